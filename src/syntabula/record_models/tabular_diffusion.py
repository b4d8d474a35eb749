"""A diffusion model of tables: numbers lose normal noise and codes multinomial noise, level by level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, flag, normalise
from syntabula._planning import FitCost, Progress
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import check_sample
from syntabula.models.restricted import Restricted, Weights, by_trying
from syntabula.record_models.denoiser import DenoisingNetwork, SeparateDenoising, first_weights, shapes_of
from syntabula.record_models.denoising import ROWS_AT_ONCE, Denoising, first_cuts, with_marginals
from syntabula.record_models.diffusion import cosine_schedule, strided_levels
from syntabula.record_models.loop import Training, seconds_per_step, train
from syntabula.record_models.noisy_network import NoisyNetworkModel, made_up_lookups
from syntabula.record_models.representation import ColumnLookup, column_lookups, warn_of_unseen

_TRIED = 20_000
_USUAL_BINS = 300
_NOISY_DRAWS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class TabularDiffusion(NoisyNetworkModel):
    """Learns to take noise off records, and draws rows by taking it off noise, step by step.

    Ordered columns are normal scores with normal noise, the others codes that are drawn anew at random. Both processes
    allow strides over many levels, so a draw takes few steps: numbers follow the path without chance that has the same
    distribution at each level (Song, Meng, Ermon 2021, "Denoising Diffusion Implicit Models"), by a method of second
    order, and codes are drawn by Bayes' rule.

    A third of the records are shown with some columns free of noise, so that any columns can be given to a draw, and
    the others are drawn given them. The paper does so with the class to be predicted alone.

    Saved are the weights, where numbers are cut into codes, and the one-way marginals. A model that was loaded samples
    without torch.

    Attributes:
        units: Width of the layers.
        layers: Number of them.
        levels: Levels of noise that are learned.
        steps_back: Most steps in which rows are drawn; as many as levels at most.
        ancestral: Draw numbers with new noise at each step, as the paper does; it takes far more steps.
        draws: Levels of noise that are drawn for each record of a batch; None for one, or with a budget eight, as they
            make the gradient of a record steadier at no cost of privacy.
    """

    kind: ClassVar[str] = "tabular_diffusion"

    units: int = 512
    layers: int = 2
    levels: int = 1000
    steps_back: int = 40
    ancestral: bool = False
    draws: int | None = None

    def __post_init__(self) -> None:
        normalise(
            self,
            units=count(),
            layers=count(),
            levels=count(1, 100_000),
            steps_back=count(),
            ancestral=flag,
            draws=count().or_none,
        )

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training takes, from a timed step on a made-up batch."""
        batch = max(min(training.batch, n_rows), 1)
        ordered = tuple(c in domain.ordered for c in domain)
        usual = tuple(min(s, _USUAL_BINS) if o else s for s, o in zip(domain.sizes, ordered, strict=True))
        seconds = _timed_step(replace(self, _domain=None), usual, ordered, training, batch)
        seconds *= training.steps_for(n_rows)
        if training.seconds is not None:
            seconds = min(seconds, training.seconds)
        weights = sum(math.prod(s) for s in self._shapes(domain.sizes, ordered).values())
        # Weights, gradient, two moments, mean and best; what a batch leaves for its gradient; the table.
        numbers = 7 * weights + batch * (self.draws or 1) * self._numbers_per_draw(domain)
        numbers += n_rows * len(domain)
        return FitCost(numbers * 4 / 2**20, seconds)

    def trained(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        records: EncodedTable,
        training: Training,
        progress: Progress,
        *,
        seed: int,
    ) -> Self:
        """Return a model trained on records."""
        lookups = column_lookups(domain, one_way, waves=0)
        places = [lookup.places[codes] for lookup, codes in zip(lookups, records.codes, strict=True)]
        weights = train(
            lambda device, random: self._network(lookups, device, random),
            np.stack(places, 1).astype(np.int32),
            training,
            progress,
            seed=seed,
        )
        weights["cuts"] = first_cuts(lookups)
        total = float(max(records.n_rows, 1))
        return replace(self, _domain=domain, _total=total, _one_way=dict(one_way), _weights=weights)

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given`, draw the other columns conditionally, whichever are given.

        A given code that no record had tells nothing, or in an ordered column what the nearest code tells.
        """
        check_sample(self.domain, n, given)
        codes = {} if given is None else {c: given.column(c) for c in given.domain}
        known = {self.domain.index(c): self._lookup(c).places[column] for c, column in codes.items()}
        unseen = [c for c in codes if (known[self.domain.index(c)] == self._lookup(c).size).any()]
        warn_of_unseen(unseen)
        rows = [np.zeros((0, len(self.domain)), dtype=np.intp)]
        for start in range(0, n, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, n)
            part = {column: places[start:stop] for column, places in known.items()}
            rows.append(self._denoising.draw(stop - start, rng, part))
        drawn = np.concatenate(rows)
        columns = []
        for j, (column, lookup) in enumerate(zip(self.domain, self._lookups, strict=True)):
            made = lookup.codes[np.minimum(drawn[:, j], lookup.size - 1)].astype(np.uint64)
            columns.append(codes.get(column, made))
        return EncodedTable(self.domain, tuple(columns))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records that satisfy conditions: rows are drawn, and those that satisfy them kept.

        Raises:
            ResourceError: If fewer than one row in 10,000 would be kept.
        """
        return by_trying(self, weights, tried=_TRIED)

    @cached_property
    def _denoising(self) -> Denoising:
        return self._drawing(self._lookups, self._weights)

    def _drawing(self, lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray]) -> Denoising:
        return Denoising(
            lookups,
            weights,
            cosine_schedule(self.levels),
            strided_levels(self.levels, self.steps_back),
            ancestral=self.ancestral,
        )

    def _shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        cuts = sum(size - 1 for size, has_order in zip(sizes, ordered, strict=True) if has_order)
        return self._network_shapes(sizes, ordered) | {"cuts": (cuts,)}

    def _network_shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        codes = [size for size, has_order in zip(sizes, ordered, strict=True) if not has_order]
        return shapes_of(sum(ordered), codes, units=self.units, layers=self.layers)

    def _network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> DenoisingNetwork:
        shapes = self._network_shapes([x.size for x in lookups], [x.waves is not None for x in lookups])
        weights = first_weights(lookups, shapes, device=device, random=random)
        return DenoisingNetwork(lookups, cosine_schedule(self.levels), weights, draws=self.draws or 1)

    def _separate_network(
        self, lookups: Sequence[ColumnLookup], device: Any, random: Any
    ) -> SeparateDenoising:
        weights = dict(self._network(lookups, device, random).parameters)
        # Columns have exactly their marginals at first.
        weights["out"] = weights["out"] * 0
        kept, draws = cosine_schedule(self.levels), self.draws or _NOISY_DRAWS
        return SeparateDenoising(lookups, kept, weights, draws=draws)

    def _numbers_per_draw(self, domain: Domain) -> int:
        sizes = [size for c, size in zip(domain, domain.sizes, strict=True) if c not in domain.ordered]
        of_codes = 5 * sum(sizes) + 3 * len(sizes) * max(sizes, default=0)
        return self.units * 2 * (self.layers + 1) + of_codes

    def _numbers_per_record(self, domain: Domain) -> int:
        return (self.draws or _NOISY_DRAWS) * self._numbers_per_draw(domain)

    def _released(
        self, lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> Mapping[str, np.ndarray]:
        started = {**weights, "cuts": first_cuts(lookups)}
        return with_marginals(lookups, started, lambda moved: self._drawing(lookups, moved), rng)


@lru_cache(maxsize=16)
def _timed_step(
    model: TabularDiffusion,
    sizes: tuple[int, ...],
    ordered: tuple[bool, ...],
    training: Training,
    batch: int,
) -> float:
    lookups = made_up_lookups(sizes, ordered, waves=0)
    return seconds_per_step(
        lambda device, random: model._network(lookups, device, random), sizes, training, batch
    )
