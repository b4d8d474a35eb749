"""A mixture of products whose rows a network generates, trained towards a released mean embedding of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from time import perf_counter, process_time
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, near, normalise, positive, text, words
from syntabula._planning import FitCost, Progress
from syntabula._spaces import Choice, Range, tunable
from syntabula._threads import MOST_TRAINING_THREADS, threads_at_once, training_threads
from syntabula.errors import ArgumentError, TrainingError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.fourier import FourierFeatures, draw_features
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total, project_simplex
from syntabula.models.base import Model, bound, read_facts, stored_facts, whole_model
from syntabula.models.goal_groups import group_goals
from syntabula.models.neural import first_arrays, network_of
from syntabula.models.product_mixture import ProductMixture, even_rows
from syntabula.models.restricted import Restricted, Weights
from syntabula.models.row_fitting import fit_rows, pick_device
from syntabula.models.targets import joined_targets, make_goals
from syntabula.record_models.feature_goals import FeatureGoals
from syntabula.record_models.training_memory import require_room, training_memory

TRAIN_GENERATOR = "train the generator"

_TOLERANCE = 1e-3
_RATES = ((0.5, 1.0), (0.25, 0.3), (0.25, 0.1))
"""Parts of the steps, and their learning rates as parts of the first."""
_RAKED = 10
_TIMED_STEPS, _TIMED_RATE = 1, 3e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanEmbedding(Model):
    """Rows with one distribution per column, which a network generates towards the mean features of a table.

    Harder, Adamczewski, Park (2021), DP-MERF, section 4: a generator is trained to bring the mean features of its rows
    near to the released ones of the table; that looks at no record. Saved are the rows alone, and a loaded model needs no
    torch.

    Attributes:
        features: About how many numbers describe the table; half of them are cosines.
        together: Columns that a feature depends on, at most 4; dependences of more columns are not learned.
        label: A column whose dependences weigh more in training, as many times as there are columns; None for none. The
            paper ties all features to one.
        levels: Codes of a column that are told apart; more are merged, and drawn by their one-way marginal.
        rows: Number of rows that are generated.
        units: Width of the network's two blocks.
        steps: Most steps of training; it ends before where noise explains what is left.
        seconds: Training ends after so long at the latest, the learning rate having come down by then; None for no
            limit. It looks at released numbers alone, so that the privacy is the same; the model then depends on how
            fast the machine is.
        learning_rate: Of Adam for the first half of the steps; it falls to a tenth.
        threads: How many train on a processor.
        device: "auto" (a GPU if there is one), or a device as torch names it.
    """

    kind: ClassVar[str] = "mean_embedding"

    features: int = tunable(3000, Choice((1000, 3000, 10_000)))
    together: int = 2
    label: str | None = None
    levels: int = 64
    rows: int = 256
    units: int = 256
    steps: int = 400
    seconds: float | None = None
    learning_rate: float = tunable(3e-3, Range(low=3e-4, high=1e-2, log=True))
    threads: int = 1
    device: str = "auto"
    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _rows: ProductMixture | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        normalise(
            self,
            features=count(2),
            together=count(1, 4),
            label=text.or_none,
            levels=count(2),
            rows=count(2),
            units=count(),
            steps=count(),
            seconds=positive.or_none,
            learning_rate=positive,
            threads=count(1, MOST_TRAINING_THREADS),
            device=words('"auto" or a name of torch, such as "cpu" or "cuda:0"'),
        )

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return bound(self._domain)

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    def training_cost(self, domain: Domain) -> FitCost:
        """Say what training over a domain takes, from timed steps on made-up goals.

        Raises:
            ArgumentError: If there is no such device, or the label is no column.
            MissingExtraError: If torch is not installed.
        """
        if self.label is not None and self.label not in domain:
            raise ArgumentError(
                f"label names column {self.label!r}, which is not learned{near(self.label, domain)}"
            )
        sizes = tuple(min(size, self.levels) for size in domain.sizes)
        timed = replace(self, label=None, seconds=None, _domain=None, _rows=None)
        waves = 2 * max(self.features // 2, len(sizes)) * min(self.together, len(sizes))
        # Rows, network and their gradients; the numbers of each row at each wave, and what their product leaves.
        numbers = self.rows * (12 * sum(sizes) + 24 * self.units + 4 * waves)
        numbers += 12 * self.units * (self.units + sum(sizes))
        require_room(numbers, pick_device(self.device))
        seconds = min(_timed_step(timed, sizes) * self.steps, self._most_seconds)
        return FitCost(numbers * 4 / 2**20, seconds)

    def drawn_features(self, domain: Domain, one_way: Mapping[str, FloatArray], seed: int) -> FourierFeatures:
        """Draw the features of a table, by its one-way marginals."""
        rng = np.random.default_rng([seed, 0])
        return draw_features(domain, one_way, most=self.features // 2, columns=self.together, rng=rng)

    def trained(
        self,
        one_way: Sequence[Measurement],
        features: FourierFeatures,
        sums: FloatArray,
        *,
        sigma: float,
        seed: int,
        progress: Progress = lambda step, done: None,
    ) -> Self:
        """Return a model trained towards released numbers.

        Args:
            one_way: Noisy one-way marginals.
            features: The features.
            sums: Their noisy sums over the records, as `FeatureCurator.sum` returns them.
            sigma: Standard deviation of the noise on each.
            seed: Of the network's input and first weights.
            progress: Told the time that is left.

        Raises:
            ResourceError: If memory runs out.
            TrainingError: If it came to no numbers.
        """
        domain = features.domain
        total = max(consistent_total(one_way), 1.0)
        device = pick_device(self.device)
        rng = np.random.default_rng([seed, 1])
        arrays = first_arrays(domain, rows=self.rows, units=self.units, start="codes", rng=rng)
        network = network_of(domain, arrays, device=device, draw=None)
        targets = [t for t in joined_targets(domain, one_way) if t.weight.any()]
        goals = group_goals(domain, make_goals(targets, total), device)
        # As the sum over all sets of columns of the squared distance of their marginals, in the mean over the angles.
        weight = math.comb(len(domain), len(features.shifts[0])) / features.count
        with_label = [self.label in clique for clique, _ in features.blocks()]
        embedding = FeatureGoals.of(
            features,
            sums / total,
            deviation=sigma / total,
            weights=weight * np.where(with_label, len(domain), 1.0),
            device=device,
        )
        clock, done = _Clock(self.steps, self._most_seconds, progress), 0.0
        with training_threads(self.threads), training_memory(device):
            for part, rate in _RATES:
                fit_rows(
                    network,
                    [*goals, embedding],
                    iterations=math.ceil(part * self.steps),
                    learning_rate=rate * self.learning_rate,
                    tolerance=_TOLERANCE,
                    stop_at_noise=True,
                    ends=partial(clock.is_over, before=done, until=done + part),
                )
                done += part
            table = network.table().detach().cpu().numpy()
        if not np.isfinite(table).all():
            raise TrainingError(
                "the rows of the generator were no finite numbers any more; lower learning_rate, which is "
                f"{self.learning_rate:g}"
            )
        counts = {m.clique[0]: m.values for m in one_way}
        try:
            rows = ProductMixture(domain, _raked(domain, table, counts))
        except ArgumentError:
            # Weights of numbers that grew without end, though each is finite.
            raise TrainingError(
                "the rows of the generator were no distributions any more; lower learning_rate, which is "
                f"{self.learning_rate:g}"
            ) from None
        return replace(self, _domain=domain, _total=total, _rows=rows)

    @property
    def _most_seconds(self) -> float:
        return math.inf if self.seconds is None else self.seconds

    @property
    def _held(self) -> ProductMixture:
        return even_rows(self.domain) if self._rows is None else self._rows

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in its order."""
        return [self._total * table for table in self._held.marginals(cliques)]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n records from the rows; with `given`, draw the other columns conditionally."""
        return self._held.sample(n, rng, given)

    def restricted(self, weights: Weights) -> Restricted:
        """Return the mixture times one weight per code of some columns, exactly."""
        return self._held.restricted(weights)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return options and domain as facts and the rows as an array, for a file."""
        return stored_facts(self), {} if self._rows is None else {"rows": self._rows.probabilities}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of the rows for these stored facts; raises ReleaseFileError if they are malformed."""
        with whole_model():
            domain, _, options = read_facts(cls, facts)
            return {"rows": 4 * cls(**options).rows * sum(domain.sizes)}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            domain, total, options = read_facts(cls, facts)
            model = replace(cls(**options), _domain=domain, _total=total)
            rows = ProductMixture(domain, arrays["rows"])
            if set(arrays) != {"rows"} or len(rows.probabilities) != model.rows:
                raise ValueError("another number of rows")
            return replace(model, _rows=rows)


class _Clock:
    """Says when a part of the training has had its part of the time, and how long the rest takes at most."""

    def __init__(self, steps: int, seconds: float, progress: Progress) -> None:
        self._steps, self._seconds, self._progress = steps, seconds, progress
        self._began = perf_counter()

    def is_over(self, taken: int, *, before: float, until: float) -> bool:
        """Return whether to stop after so many steps of the part from `before` to `until` of the training."""
        elapsed = perf_counter() - self._began
        done = before + taken / self._steps
        if taken and taken % 10 == 0:
            left = min(elapsed / done * (1 - done), self._seconds - elapsed)
            self._progress(f"{TRAIN_GENERATOR}: at most {max(left, 0):,.0f} s left", done)
        return elapsed >= until * self._seconds


def _raked(domain: Domain, table: np.ndarray, counts: Mapping[str, FloatArray]) -> np.ndarray:
    """Return rows whose means are the measured one-way marginals, or nearly; each row keeps what is peculiar to it."""
    parts = []
    starts = np.cumsum([0, *domain.sizes])
    for j, column in enumerate(domain):
        part = table[:, starts[j] : starts[j + 1]].astype(np.float64)
        wanted = project_simplex(counts[column], 1.0 if counts[column].sum() <= 0 else counts[column].sum())
        wanted = wanted / wanted.sum()
        for _ in range(_RAKED):
            means = part.mean(0)
            part *= np.divide(wanted, means, out=np.ones_like(means), where=means > 0)
            part /= part.sum(1, keepdims=True)
        parts.append(part.astype(np.float32))
    return np.concatenate(parts, axis=1)


@lru_cache(maxsize=16)
def _timed_step(model: MeanEmbedding, sizes: tuple[int, ...]) -> float:
    """Return the seconds of a step on a free machine, towards the embedding of a made-up table."""
    domain = Domain(tuple(f"{i}" for i in range(len(sizes))), sizes)
    counts = {c: np.ones(domain.size(c)) for c in domain}
    one_way = [Measurement((c,), values, 1.0) for c, values in counts.items()]
    features = model.drawn_features(domain, counts, 0)
    sums = np.ones(2 * features.count)
    taken: list[float] = []
    # The first run loads torch, and counts for nothing.
    for steps in (1, 4, 4 + 4 * _TIMED_STEPS):
        began = process_time()
        replace(model, steps=steps, learning_rate=_TIMED_RATE).trained(
            one_way, features, sums, sigma=1e-9, seed=0
        )
        taken.append(process_time() - began)
    return max((taken[2] - taken[1]) / (4 * _TIMED_STEPS), 1e-6) / threads_at_once(model.threads)
