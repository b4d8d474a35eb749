"""A diffusion model of tables: numbers lose normal noise and codes multinomial noise, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, flag, normalise
from syntabula._planning import FitCost, Progress
from syntabula._spaces import Choice, Range, tunable
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.restricted import Restricted, Weights, by_trying
from syntabula.privacy.training.records import RecordCurator
from syntabula.record_models.codes_network import CodesNetwork
from syntabula.record_models.denoiser import DenoisingNetwork, SeparateDenoising, first_weights, shapes_of
from syntabula.record_models.denoising import ROWS_AT_ONCE, Denoising, first_cuts, with_marginals
from syntabula.record_models.diffusion import cosine_schedule, strided_levels
from syntabula.record_models.following import FollowingRows
from syntabula.record_models.loop import Training
from syntabula.record_models.matched_rows import matched_rows
from syntabula.record_models.noisy_loop import NoisyTraining, PaidTraining
from syntabula.record_models.representation import ColumnLookup, Places

_TRIED = 20_000
_UNITS, _NOISY_UNITS = 512, 256
_NOISY_DRAWS = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class TabularDiffusion(CodesNetwork, FollowingRows):
    """Learns to take noise off records, and draws rows by taking it off noise, step by step.

    Ordered columns are normal scores with normal noise, the others codes that are drawn anew at random. Both processes
    allow strides over many levels, so a draw takes few steps: numbers follow the path without chance that has the same
    distribution at each level (Song, Meng, Ermon 2021, "Denoising Diffusion Implicit Models"), and codes are drawn by
    Bayes' rule; both by what the network would say halfway through a step, which follows from what it said in the step
    before.

    Given columns are met first by rows that are drawn freely: a given row takes the other columns of one that has its
    values. If too few rows have them, the network is told them instead: a third of the records are shown to it with some
    columns free of noise. It follows one or two such columns in part only, and half of them or more well. The paper shows
    the class to be predicted alone.

    Saved are the weights, where numbers are cut into codes, and the one-way marginals. A model that was loaded samples
    without torch; where torch is installed and the processor has fast products in bfloat16, rows are drawn by these, so
    that a seed gives other rows there.

    Attributes:
        units: Width of the layers; None for 512, or with a budget 256, as noise on each weight leaves little for more.
        layers: Number of them.
        levels: Levels of noise that are learned.
        steps_back: Most steps in which rows are drawn; as many as levels at most.
        ancestral: Draw numbers with new noise at each step, as the paper does; it takes far more steps.
        draws: Levels of noise that are drawn for each record of a batch; None for one, or with a budget three, as they
            make the gradient of a record steadier at no cost of privacy.
    """

    kind: ClassVar[str] = "tabular_diffusion"

    units: int | None = tunable(None, Choice((64, 128, 256, 512)))
    layers: int = tunable(2, Range(low=1, high=4))
    levels: int = 1000
    steps_back: int = 16
    ancestral: bool = False
    draws: int | None = None
    _width: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(
            self,
            units=count().or_none,
            layers=count(),
            levels=count(1, 100_000),
            steps_back=count(),
            ancestral=flag,
            draws=count().or_none,
        )

    @property
    def starts_at_marginals(self) -> bool:
        """Whether a network that noise trains draws the one-way marginals from the start: yes."""
        return True

    def noisy_training_cost(
        self, domain: Domain, n_rows: int, training: Training, noisy: NoisyTraining, steps: int
    ) -> FitCost:
        """Say what so many steps with noise take, from a timed step on made-up records."""
        return super(TabularDiffusion, self._for_noise).noisy_training_cost(
            domain, n_rows, training, noisy, steps
        )

    def trained_with_noise(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        door: RecordCurator,
        paid: PaidTraining,
        progress: Progress,
    ) -> Self:
        """Return a model trained by noisy gradients."""
        return super(TabularDiffusion, self._for_noise).trained_with_noise(
            domain, one_way, door, paid, progress
        )

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records that satisfy conditions: rows are drawn, and those that satisfy them kept.

        Raises:
            ResourceError: If fewer than one row in 10,000 would be kept.
        """
        return by_trying(self, weights, tried=_TRIED)

    @property
    def _for_noise(self) -> Self:
        """The same model with layers as wide as noise is given to."""
        return replace(self, _width=self.units or _NOISY_UNITS)

    @property
    def _layer_units(self) -> int:
        return self._width or self.units or _UNITS

    def _column_facts(self) -> dict[str, Any]:
        return {**super()._column_facts(), "width": self._layer_units}

    @classmethod
    def _of_facts(cls, facts: Mapping[str, Any]) -> Self:
        # Files of earlier versions state it as an option alone.
        width = int(facts.get("width", facts["units"]))
        if width < 1 or facts["units"] not in (None, width):
            raise ValueError("layers without units, or of others than asked for")
        return replace(super()._of_facts(facts), _width=width)

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
        return shapes_of(sum(ordered), codes, units=self._layer_units, layers=self.layers)

    def _network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> DenoisingNetwork:
        shapes = self._network_shapes([x.size for x in lookups], [x.waves is not None for x in lookups])
        weights = first_weights(lookups, shapes, device=device, random=random)
        return DenoisingNetwork(lookups, cosine_schedule(self.levels), weights, draws=self.draws or 1)

    def _noisy_network(self, lookups: Sequence[ColumnLookup], device: Any, random: Any) -> SeparateDenoising:
        weights = dict(self._network(lookups, device, random).parameters)
        # Columns have exactly their marginals at first.
        weights["out"] = weights["out"] * 0
        kept, draws = cosine_schedule(self.levels), self.draws or _NOISY_DRAWS
        return SeparateDenoising(lookups, kept, weights, draws=draws)

    def _after_training(
        self, lookups: Sequence[ColumnLookup], weights: Mapping[str, np.ndarray]
    ) -> Mapping[str, np.ndarray]:
        return {**weights, "cuts": first_cuts(lookups)}

    def _after_noise(
        self,
        lookups: Sequence[ColumnLookup],
        weights: Mapping[str, np.ndarray],
        total: float,
        rng: np.random.Generator,
    ) -> Mapping[str, np.ndarray]:
        started = self._after_training(lookups, weights)
        return with_marginals(lookups, started, lambda moved: self._drawing(lookups, moved), total, rng)

    def _rows_given(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        """Return n rows with known places of some columns: free rows that have them, or rows drawn given them."""
        drawn = super()._rows_given
        if not n or not 0 < len(known) < len(self.domain):
            return drawn(known, n, rng)
        positions = [self.domain.index(c) for c in known]
        lookups = [self._lookups[j] for j in positions]
        wanted = np.stack([*known.values()], 1)
        rows, found = matched_rows(lookups, wanted, lambda m: drawn({}, m, rng), positions)
        left = np.flatnonzero(~found)
        rows[left] = drawn({c: places[left] for c, places in known.items()}, left.size, rng)
        return rows

    def _completed(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        """Return n rows with known places of some columns."""
        return self._denoising.draw(n, rng, {self.domain.index(c): places for c, places in known.items()})

    def _rows_at_once(self, n: int) -> int:
        return ROWS_AT_ONCE

    def _numbers_of_record(self, domain: Domain, *, noisy: bool) -> int:
        sizes = [size for c, size in zip(domain, domain.sizes, strict=True) if c not in domain.ordered]
        of_codes = 5 * sum(sizes) + 3 * len(sizes) * max(sizes, default=0)
        return (self.draws or (_NOISY_DRAWS if noisy else 1)) * (
            self._layer_units * 2 * (self.layers + 1) + of_codes
        )
