"""The private form of CTGAN: a critic that noisy gradients train, and rows that move to where it sees records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula._planning import FitCost, Progress
from syntabula._threads import training_threads
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.training.records import RECORDS_AT_ONCE, RecordCurator
from syntabula.record_models.blocks import FloatTable, first_weights
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
from syntabula.record_models.precision import Precision, products_for
from syntabula.record_models.products import ExactProducts, Products

if TYPE_CHECKING:
    from torch import Generator, Tensor

_ROWS_PER_RECORD, _LEAST_ROWS, _ENOUGH_ROWS = 4, 2048, 4096
"""Rows for each record of a step, at least and at most so many."""
_MOST_ROWS = 100_000
_MOVES = 1
"""Columns that each row moves in before a step."""
_NUMBERS_AT_ONCE = 1 << 18


class NoisyCritic:
    """A critic of records and rows, and the rows that it judges.

    Rows are drawn from the released one-way marginals at first, and are to be as likely as the marginals' product times
    the exponential of the critic's score. Each step changes scores a little, so rows are drawn again, the more often
    the more their score rose (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006). This keeps them in proportion
    at one look at each, even where no move leads from one kind of row to another. A move of Metropolis and Hastings then
    brings new rows in: a column, each in its turn, is drawn anew by its marginal, and the new code stays the likelier,
    the more the score rises.

    A step raises the scores of records and lowers those of rows, as a critic of Wasserstein's distance does. Where rows
    are as likely as they are to be, it is one up the likelihood of the records.

    The loss of a record is the score of a row less its own. Rows follow from marginals, critic and public draws alone.

    Args:
        encoding: Every column a block of its codes.
        parameters: All weights by name.
        device: Of torch.
        seed: Of the first rows and their moves. No privacy rests on it.
        n_rows: At least 1.
        products: Of the scores by which rows move, which may be rounded, as no record has a part in them; None for exact
            ones.

    Attributes:
        parameters: All weights by name.
        rows: Codes' positions [rows, columns].
        scored: What each row's score was when it was drawn and moved last [rows].
    """

    def __init__(
        self,
        encoding: Encoding,
        parameters: Mapping[str, Tensor],
        device: Any,
        *,
        seed: int,
        n_rows: int,
        products: Products | None = None,
    ) -> None:
        torch = require("torch", "neural")
        self.parameters, self._seed, self._device = parameters, seed, device
        self._of_rows = products or ExactProducts()
        self._starts = torch.as_tensor(encoding.blocks.starts, dtype=torch.long, device=device)
        self._width = encoding.blocks.width
        self._shares = [
            torch.as_tensor(np.exp(lookup.log_shares.astype(np.float64)), device=device)
            for lookup in encoding.lookups
        ]
        self.rows = self.drawn(n_rows, self._random(0))
        # By the marginals alone, as if all had one score.
        self.scored = torch.zeros(n_rows, device=device)

    @property
    def following(self) -> list[Tensor]:
        """The rows and their scores."""
        return [self.rows, self.scored]

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
        sums = blocks @ self.parameters["codes"] + self.parameters["bias/0"]
        scores = self._scores(sums)
        found: Tensor = scores[:, 1] - scores[:, 0]
        return found

    def follow(self, step: int) -> None:
        """Draw the rows again by what the last step changed, and move them, before a step."""
        random = self._random(step + 1)
        rows, scores = self.likelier(len(self.rows), random)
        n_columns = len(self._shares)
        columns = [(step * _MOVES + move) % n_columns for move in range(_MOVES)]
        self.moved(rows, scores, columns, random)
        self.rows.copy_(rows)
        self.scored.copy_(scores)

    def likelier(self, n: int, random: Generator) -> tuple[Tensor, Tensor]:
        """Return n of the rows and their scores, in random order: each the more often, the more its score has risen.

        Each row is there as often as whole numbers allow, so that equal weights lose none.
        """
        torch, device = require("torch", "neural"), self._device
        with torch.no_grad():
            scores = self._scores(self._sums(self.rows), self._of_rows)
            risen = (scores - self.scored).double()
        heights = (risen - risen.max()).exp().cumsum(0)
        first = torch.rand(1, generator=random, dtype=torch.float64, device=device)
        steps = (torch.arange(n, device=device) + first) / n * heights[-1]
        places = torch.searchsorted(heights, steps, right=True).clamp_max(len(self.rows) - 1)
        places = places[torch.randperm(n, generator=random, device=device)]
        return self.rows.index_select(0, places), scores.index_select(0, places)

    def last(self, weights: Mapping[str, FloatTable], n: int, steps: int) -> Tensor:
        """Take up other weights, and return n rows that follow them and have moved in every column [n, columns].

        Args:
            weights: By name, such as their running mean.
            n: At least 1.
            steps: Number of steps before.
        """
        torch = require("torch", "neural")
        self.parameters = {name: torch.as_tensor(w, device=self._device) for name, w in weights.items()}
        random = self._random(steps + 1)
        rows, scores = self.likelier(n, random)
        self.moved(rows, scores, range(rows.shape[1]), random)
        return rows

    def drawn(self, n: int, random: Generator) -> Tensor:
        """Return rows whose columns tell nothing of each other [n, columns]."""
        torch = require("torch", "neural")
        drawn = [torch.multinomial(s, n, replacement=True, generator=random) for s in self._shares]
        found: Tensor = torch.stack(drawn, 1)
        return found

    def moved(self, rows: Tensor, scores: Tensor, columns: Sequence[int], random: Generator) -> None:
        """Let each row take one move of each of some columns, in that order.

        Args:
            rows: Changed in place [n, columns].
            scores: Of the rows, changed in place [n].
            columns: Positions of columns.
            random: Of all draws.
        """
        # As many rows at a time as the processor's cache holds the sums of.
        most = max(1, _NUMBERS_AT_ONCE // self.parameters["codes"].shape[1])
        for start in range(0, len(rows), most):
            part = slice(start, start + most)
            self._move(rows[part], scores[part], columns, random)

    def _move(self, rows: Tensor, scores: Tensor, columns: Sequence[int], random: Generator) -> None:
        torch = require("torch", "neural")
        n = len(rows)
        with torch.no_grad():
            codes = self.parameters["codes"]
            sums = self._sums(rows)
            for j in columns:
                own = rows[:, j]
                tried = torch.multinomial(self._shares[j], n, replacement=True, generator=random)
                chances = torch.rand(n, generator=random, device=self._device).log_()
                # A row that would get the code that it has stays as it is; with few codes these are about half of all.
                which = torch.nonzero(tried != own)[:, 0]
                tried, start = tried.index_select(0, which), self._starts[j]
                changed = codes.index_select(0, start + tried)
                changed -= codes.index_select(0, start + own.index_select(0, which))
                changed += sums.index_select(0, which)
                reached = self._scores(changed, self._of_rows)
                rise = reached - scores.index_select(0, which)
                taken = torch.nonzero(chances.index_select(0, which) < rise)[:, 0]
                which = which.index_select(0, taken)
                own.index_copy_(0, which, tried.index_select(0, taken))
                sums.index_copy_(0, which, changed.index_select(0, taken))
                scores.index_copy_(0, which, reached.index_select(0, taken))

    def _sums(self, rows: Tensor) -> Tensor:
        """Return what the codes of rows add up to [n, units]."""
        torch = require("torch", "neural")
        found: Tensor = torch.nn.functional.embedding_bag(
            rows + self._starts, self.parameters["codes"], mode="sum"
        )
        return found + self.parameters["bias/0"]

    def _scores(self, sums: Tensor, products: Products | None = None) -> Tensor:
        """Return the scores of rows, by what their codes add up to [..., units]; exact if no products are given."""
        torch, weights = require("torch", "neural"), self.parameters
        products = products or ExactProducts()
        value = products(torch.nn.functional.leaky_relu(sums, 0.2), weights["layer/1"], weights["bias/1"])
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


def new_critic(
    encoding: Encoding,
    units: int,
    device: Any,
    random: Generator,
    *,
    seed: int,
    batch: int,
    precision: Precision = "auto",
) -> NoisyCritic:
    """Return an untrained critic and its rows, for steps of so many records."""
    shapes = critic_shapes(encoding.blocks.width, units)
    weights = first_weights(shapes, device=device, random=random)
    # A row has one code of each column, whatever the number of codes.
    weights["codes"] = weights["codes"] * math.sqrt(encoding.blocks.width / len(encoding.lookups))
    n_rows = min(max(_ROWS_PER_RECORD * batch, _LEAST_ROWS), _ENOUGH_ROWS)
    products = products_for(precision, device)
    return NoisyCritic(encoding, weights, device, seed=seed, n_rows=n_rows, products=products)


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
    batch = noisy.batch_of(n_rows)
    width = encoding.blocks.width
    n_weights = sum(math.prod(shape) for shape in critic_shapes(width, units).values())
    seconds = steps * seconds_per_noisy_step(
        lambda device, random: new_critic(
            encoding, units, device, random, seed=0, batch=batch, precision=training.precision
        ),
        domain.sizes,
        training,
        noisy,
        batch,
        n_weights=n_weights,
    )
    # Weights, mean, moments, sums and noise; one-hot rows and layers of a batch; the table; the last rows.
    numbers = 18 * n_weights
    numbers += min(batch, RECORDS_AT_ONCE) * 4 * (width + 8 * units) + n_rows * len(domain)
    numbers += min(max(n_rows, _ENOUGH_ROWS), _MOST_ROWS) * (6 * units + 4 * len(domain))
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
    encoding = plain_encoding(domain, one_way)
    batch, made = paid.noisy.batch_of(round(paid.total)), list[NoisyCritic]()

    def make(device: Any, random: Generator) -> NoisyCritic:
        precision = paid.training.precision
        made.append(
            new_critic(encoding, units, device, random, seed=paid.seed, batch=batch, precision=precision)
        )
        return made[-1]

    places = [lookup.frequent_places for lookup in encoding.lookups]
    weights = train_with_noise(make, places, door, paid, progress)
    n = min(max(round(paid.total), 1), _MOST_ROWS)
    with training_threads(paid.training.threads):
        rows_taken = made[0].last(weights, n, paid.steps).cpu().numpy()
    codes = [
        lookup.codes[column].astype(np.uint64)
        for lookup, column in zip(encoding.lookups, rows_taken.T, strict=True)
    ]
    rows = EncodedTable(domain, tuple(codes))
    shares = {c: counts / counts.sum() for c, counts in one_way.items()}
    followed = drawn_again(rows, raked(np.ones(n), rows, shares), n, paid.seed)
    return EvolvedRows.of(followed, paid.total)
