"""The private form of CTGAN: a critic that noisy gradients train, and rows that move to where it sees records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula._planning import FitCost, Progress
from syntabula._threads import training_threads
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.training.records import MOST_RECORDS, RECORDS_AT_ONCE, RecordCurator
from syntabula.record_models.blocks import first_weights
from syntabula.record_models.encoding import Encoding, plain_encoding
from syntabula.record_models.generated_rows import drawn_again, raked
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import (
    NoisyTraining,
    PaidTraining,
    seconds_per_noisy_step,
    train_with_noise,
)
from syntabula.record_models.population import EvolvedRows

if TYPE_CHECKING:
    from torch import Generator, Tensor

_ROWS, _MOST_ROWS = 4096, 100_000
_MOVES = 20
_LAST_MOVES = 30
"""Moves of each column, before the last rows are taken."""


class NoisyCritic:
    """A critic of records and rows, and the rows that it judges.

    Rows are drawn from the released one-way marginals at first. Before each step they take some moves of Metropolis and
    Hastings: a column is drawn anew by its marginal, and the new code stays the likelier, the more the critic's score of
    the row rises. So rows come to be as likely as the marginals' product times the exponential of the score. A step
    raises the scores of records and lowers those of rows, as a critic of Wasserstein's distance does; where rows have
    come to rest, it is one up the likelihood of the records.

    The loss of a record is the score of a row less its own. Rows follow from marginals, critic and public draws alone.

    Args:
        encoding: Every column a block of its codes.
        parameters: All weights by name.
        device: Of torch.
        seed: Of the first rows and their moves. No privacy rests on it.
    """

    def __init__(
        self, encoding: Encoding, parameters: Mapping[str, Tensor], device: Any, *, seed: int
    ) -> None:
        torch = require("torch", "neural")
        self.parameters, self._seed, self._device = parameters, seed, device
        self._starts = torch.as_tensor(encoding.blocks.starts, dtype=torch.long, device=device)
        self._width = encoding.blocks.width
        self._shares = [
            torch.as_tensor(np.exp(lookup.log_shares.astype(np.float64)), device=device)
            for lookup in encoding.lookups
        ]
        self.rows = self.drawn(_ROWS, self._random(0))

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return how much more the critic likes a row than each record [batch].

        Args:
            records: Positions of codes [batch, columns].
            random: Draws the rows.
        """
        torch = require("torch", "neural")
        n = len(records)
        chosen = torch.randint(len(self.rows), (n,), generator=random, device=records.device)
        places = torch.stack([records.long(), self.rows[chosen]], 1) + self._starts
        # A product and no look-up: the length of its gradient takes one number for each pair of rows.
        blocks = torch.zeros((n, 2, self._width), device=records.device).scatter_(2, places, 1.0)
        scores = self._scores(blocks @ self.parameters["codes"] + self.parameters["bias/0"])
        found: Tensor = scores[:, 1] - scores[:, 0]
        return found

    def follow(self, step: int) -> None:
        """Move the rows before a step."""
        self.moved(self.rows, _MOVES, self._random(step + 1))

    def drawn(self, n: int, random: Generator) -> Tensor:
        """Return rows whose columns tell nothing of each other [n, columns]."""
        torch = require("torch", "neural")
        drawn = [torch.multinomial(s, n, replacement=True, generator=random) for s in self._shares]
        found: Tensor = torch.stack(drawn, 1)
        return found

    def moved(self, rows: Tensor, times: int, random: Generator) -> None:
        """Let each row take so many moves, in place."""
        torch = require("torch", "neural")
        n, device = len(rows), self._device
        with torch.no_grad():
            codes = self.parameters["codes"]
            sums = codes[rows + self._starts].sum(1) + self.parameters["bias/0"]
            scores = self._scores(sums)
            columns = torch.randint(rows.shape[1], (times,), generator=random, device=device)
            for j in columns.tolist():
                tried = torch.multinomial(self._shares[j], n, replacement=True, generator=random)
                chances = torch.rand(n, generator=random, device=device)
                # A row that would get the code that it has stays as it is; with few codes these are about half of all.
                which = torch.nonzero(tried != rows[:, j])[:, 0]
                held, tried, start = rows[which, j], tried[which], self._starts[j]
                changed = sums.index_select(0, which) + codes.index_select(0, start + tried)
                changed -= codes.index_select(0, start + held)
                reached = self._scores(changed)
                taken = torch.nonzero(chances[which] < (reached - scores[which]).exp())[:, 0]
                which = which[taken]
                rows[which, j] = tried[taken]
                sums.index_copy_(0, which, changed.index_select(0, taken))
                scores[which] = reached[taken]

    def _scores(self, sums: Tensor) -> Tensor:
        """Return the scores of rows, by what their codes add up to [..., units]."""
        torch, weights = require("torch", "neural"), self.parameters
        value = torch.nn.functional.leaky_relu(sums, 0.2) @ weights["layer/1"] + weights["bias/1"]
        found: Tensor = (torch.nn.functional.leaky_relu(value, 0.2) @ weights["outputs"])[..., 0]
        return found

    def _random(self, step: int) -> Generator:
        torch = require("torch", "neural")
        seed = (self._seed * 1_000_003 + step) % 2**62
        random: Generator = torch.Generator(self._device).manual_seed(seed)
        return random


def critic_shapes(width: int, units: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a critic's weights.

    Args:
        width: Codes of all columns.
        units: Of its two layers.
    """
    return {
        "codes": (width, units),
        "bias/0": (units,),
        "layer/1": (units, units),
        "bias/1": (units,),
        "outputs": (units, 1),
    }


def new_critic(encoding: Encoding, units: int, device: Any, random: Generator, *, seed: int) -> NoisyCritic:
    """Return an untrained critic and its rows."""
    shapes = critic_shapes(encoding.blocks.width, units)
    weights = first_weights(shapes, device=device, random=random)
    # A row has one code of each column, whatever the number of codes.
    weights["codes"] = weights["codes"] * math.sqrt(encoding.blocks.width / len(encoding.lookups))
    return NoisyCritic(encoding, weights, device, seed=seed)


def noisy_critic_cost(
    domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int, units: int
) -> FitCost:
    """Say what the training of a critic takes; see `NoisyRecordModel.noisy_training_cost`.

    Args:
        domain: Columns with as many codes as are told apart.
        n_rows: Number of records.
        training: Device and threads.
        noisy: All other options.
        steps: Number of steps.
        units: Of the critic.
    """
    encoding = plain_encoding(domain, {c: np.ones(domain.size(c)) for c in domain})
    batch = max(round(min(noisy.rate * n_rows, MOST_RECORDS)), 1)
    seconds = steps * seconds_per_noisy_step(
        lambda device, random: new_critic(encoding, units, device, random, seed=0),
        domain.sizes,
        training,
        noisy,
        batch,
    )
    width = encoding.blocks.width
    # Weights, mean, moments, sums and noise; one-hot rows and layers of a batch; the table; the last rows.
    numbers = 18 * sum(math.prod(shape) for shape in critic_shapes(width, units).values())
    numbers += min(batch, RECORDS_AT_ONCE) * 4 * (width + 8 * units) + n_rows * len(domain)
    numbers += min(max(n_rows, _ROWS), _MOST_ROWS) * (6 * units + 4 * len(domain))
    return FitCost(numbers * 4 / 2**20, seconds)


def rows_by_critic(
    domain: Domain,
    one_way: Mapping[str, FloatArray],
    door: RecordCurator,
    paid: PaidTraining,
    progress: Progress,
    *,
    units: int,
) -> EvolvedRows:
    """Train a critic by noisy gradients, and return rows that it takes for records and that have the marginals.

    Args:
        domain: Columns of the records.
        one_way: As they were released, none of them below 0.
        door: Gives the gradients.
        paid: What is paid for.
        progress: Told what is done.
        units: Of the critic.
    """
    torch = require("torch", "neural")
    encoding = plain_encoding(domain, one_way)
    weights = train_with_noise(
        lambda device, random: new_critic(encoding, units, device, random, seed=paid.seed),
        [lookup.frequent_places for lookup in encoding.lookups],
        door,
        paid,
        progress,
    )
    n = min(max(round(paid.total), 1), _MOST_ROWS)
    with training_threads(paid.training.threads):
        critic = NoisyCritic(
            encoding, {name: torch.as_tensor(w) for name, w in weights.items()}, "cpu", seed=paid.seed
        )
        random = torch.Generator("cpu").manual_seed(paid.seed % 2**62)
        places = critic.drawn(n, random)
        critic.moved(places, _LAST_MOVES * len(domain), random)
    codes = [
        lookup.codes[column].astype(np.uint64)
        for lookup, column in zip(encoding.lookups, places.numpy().T, strict=True)
    ]
    rows = EncodedTable(domain, tuple(codes))
    shares = {c: counts / counts.sum() for c, counts in one_way.items()}
    followed = drawn_again(rows, raked(np.ones(n), rows, shares), n, paid.seed)
    return EvolvedRows.of(followed, paid.total)
