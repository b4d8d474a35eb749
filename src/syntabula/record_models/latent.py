"""The base of models whose columns are independent given hidden numbers: CTGAN's and TVAE's networks draw such rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise
from syntabula._planning import FitCost, Progress
from syntabula._threads import one_thread_for_products
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import bound, check_sample, whole_model
from syntabula.models.product_mixture import ProductMixture
from syntabula.models.restricted import Restricted, Weights
from syntabula.record_models.blocks import FloatTable
from syntabula.record_models.encoding import Encoder, Encoding, Widths, fitted_encoding, made_up_encoding
from syntabula.record_models.following import FollowingRows
from syntabula.record_models.lookup_model import read_weights, weight_arrays, weight_bytes
from syntabula.record_models.loop import Descent, Pick, Trainable, Training, evenly, seconds_per_step, train

if TYPE_CHECKING:
    from torch import Tensor

Shapes = Mapping[str, tuple[int, ...]]

_ROWS_AT_ONCE = 16_384
_HIDDEN, _NOISY_HIDDEN = 128, 8
_MIXED, _NUMBERS_MIXED = 8192, 30_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentRows(FollowingRows):
    """Rows whose columns are independent given hidden normal numbers, which a network turns into distributions.

    Marginals, conditions and given columns are answered by up to 8,192 draws of the hidden numbers, always the same
    ones: a mixture of as many products, of which all conditional distributions are exact.

    Saved are what the network needs to draw rows, its modes and the one-way marginals. A model that was loaded
    samples without torch.

    Attributes:
        modes: Most modes of a number. Numbers with at most 30 codes have none, and are drawn as categories are.
        hidden: How many hidden numbers there are; None for 128, or with a budget 8, as each has weights that take noise.
    """

    modes: int = 10
    hidden: int | None = None
    _encoding: Encoding | None = field(default=None, repr=False)
    _weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    _noisy: bool = field(default=False, repr=False)

    _descent: ClassVar[Descent] = Descent()

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, modes=count(1, 100), hidden=count().or_none)

    @abstractmethod
    def _trained_shapes(self, widths: Widths) -> Shapes:
        """Return the shapes of all weights that are trained, by their names."""

    @abstractmethod
    def _kept_shapes(self, widths: Widths) -> Shapes:
        """Return the shapes of the weights that draw rows, by their names."""

    @abstractmethod
    def _network(self, encoder: Encoder, random: Any) -> Trainable:
        """Return the untrained network."""

    @abstractmethod
    def _kept(
        self, weights: Mapping[str, np.ndarray], encoding: Encoding, n_rows: int, rng: np.random.Generator
    ) -> Mapping[str, np.ndarray]:
        """Return the weights that draw rows, of all that were trained on so many records."""

    @abstractmethod
    def _outputs(self, n: int, rng: np.random.Generator) -> FloatTable:
        """Return means of the offsets and logits of the blocks for n draws of the hidden numbers [n, width]."""

    def _mode_chances(self, fitted: FloatArray) -> FloatArray:
        """Return how probable each mode is to stand for a code in training [codes, modes]: as fitted."""
        return fitted

    def _picks(self, encoding: Encoding) -> Callable[[Tensor], Pick]:
        """Return what makes the pick of batches."""
        del encoding
        return evenly

    @property
    def _n_hidden(self) -> int:
        """Number of hidden numbers."""
        return self.hidden or (_NOISY_HIDDEN if self._noisy else _HIDDEN)

    @property
    def _deviations(self) -> NDArray[np.floating]:
        """Standard deviation of each offset about its mean."""
        return np.zeros(len(self._fitted.modes))

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training takes, from a timed step on a made-up batch."""
        batch = training.batch_of(n_rows)
        encoding, chances = made_up_encoding(domain, self.modes)
        shapes = self._trained_shapes(encoding.widths)
        n_weights = sum(math.prod(shape) for shape in shapes.values())
        each_step = seconds_per_step(
            lambda device, random: self._network(Encoder(encoding, chances, device), random),
            tuple(lookup.size for lookup in encoding.lookups),
            training,
            batch,
            n_weights=n_weights,
            descent=self._descent,
            picks=self._picks(encoding),
        )
        seconds = training.seconds_for(n_rows, each_step)
        # Weights, gradient, two moments, mean and best; what a batch leaves for its gradient; the table.
        numbers = 7 * n_weights + n_rows * len(domain)
        numbers += batch * 8 * (sum(shape[-1] for shape in shapes.values()) + encoding.blocks.width)
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
        encoding, fitted = fitted_encoding(domain, one_way, self.modes)
        chances = {j: self._mode_chances(found) for j, found in fitted.items()}
        weights = train(
            lambda device, random: self._network(Encoder(encoding, chances, device), random),
            encoding.places(records),
            training,
            progress,
            seed=seed,
            checkpoints=self._checkpoints,
            descent=self._descent,
            picks=self._picks(encoding),
        )
        return replace(
            self,
            _domain=domain,
            _total=float(max(records.n_rows, 1)),
            _one_way=dict(one_way),
            _encoding=encoding,
            _weights=self._kept(weights, encoding, records.n_rows, np.random.default_rng(seed)),
        )

    @property
    def _fitted(self) -> Encoding:
        bound(self._domain)
        assert self._encoding is not None
        return self._encoding

    @one_thread_for_products()
    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given`, draw the other columns conditionally, whichever are given.

        Given values that no hidden numbers make possible together are ignored in part, with a ConditionWarning.
        """
        check_sample(self.domain, n, given)
        if given is not None:
            return self._mixture.sample(n, rng, given)
        pieces = [
            self._fitted.drawn(self._outputs(min(_ROWS_AT_ONCE, n - start), rng), self._deviations, rng)
            for start in range(0, max(n, 1), _ROWS_AT_ONCE)
        ]
        columns = zip(*(piece.codes for piece in pieces), strict=True)
        return EncodedTable(self.domain, tuple(np.concatenate(parts) for parts in columns))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records that satisfy conditions, among the rows of a mixture of fixed hidden numbers."""
        return self._mixture.restricted(weights) if weights else Restricted(1.0, self.sample)

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, one axis per column in its order."""
        return [shares * self.total for shares in self._mixture.marginals(cliques)]

    @cached_property
    def _mixture(self) -> ProductMixture:
        outputs = self._mixed_outputs()
        parts = [
            self._fitted.code_chances(outputs[start : start + 512], self._deviations)
            for start in range(0, len(outputs), 512)
        ]
        return ProductMixture(self.domain, np.concatenate(parts))

    def _mixed_outputs(self) -> FloatTable:
        """Return what `_outputs` does for the hidden numbers that are always the same ones."""
        n = max(min(_MIXED, _NUMBERS_MIXED // sum(self.domain.sizes)), 1)
        return self._outputs(n, np.random.default_rng(0))

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain and options as facts, marginals, modes and weights as arrays."""
        encoding = self._fitted
        facts = {
            **self._column_facts(),
            "used": [lookup.size for lookup in encoding.lookups],
            "n_modes": encoding.n_modes,
            "noisy": self._noisy,
        }
        arrays = weight_arrays(self._weights) | encoding.arrays()
        return facts, arrays | {"one_way": self._one_way_array()}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model, used, n_modes = cls._read(facts)
            shapes = model._kept_shapes(Widths.of(used, n_modes))
            modes, weights = 8 * sum(n_modes), weight_bytes(shapes)
            return {"one_way": 8 * sum(model.domain.sizes), "centres": modes, "reaches": modes, **weights}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model, used, n_modes = cls._read(facts)
            model = model._with_one_way(arrays["one_way"], used)
            encoding = Encoding.from_arrays(model.domain, model._one_way, n_modes, arrays)
            weights = read_weights(arrays, model._kept_shapes(encoding.widths))
            return replace(model, _encoding=encoding, _weights=weights)

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, list[int], list[int]]:
        """Return a model without its arrays, the codes with records of each column, and its modes."""
        model = cls._of_facts(facts)
        used, n_modes = model._used(facts), [int(size) for size in facts["n_modes"]]
        if any(not 0 <= n <= u for n, u in zip(n_modes, used, strict=True)):
            raise ValueError("another number of modes")
        # Older files have no such fact, as there was no training with noise.
        return replace(model, _noisy=bool(facts.get("noisy", False))), used, n_modes
