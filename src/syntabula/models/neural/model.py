"""Soft rows whose distributions a network makes: the model of GEM and MargNet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError, SchemaError
from syntabula.marginals.consistency import consistent_total
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.devices import pick_device, training_threads
from syntabula.models.neural.network import (
    Arrays,
    Input,
    arrays_of,
    check_arrays,
    draw_input,
    first_arrays,
    network_numbers,
    network_of,
    training_numbers,
)
from syntabula.models.pgm.mirror_descent import join
from syntabula.models.row_fitting import Loss, fit_rows, make_stars, star_numbers
from syntabula.models.rows import Rows, check_measurements, even_rows

_CHOICES: dict[str, tuple[str, ...]] = {
    "loss": ("squared", "largest"),
    "start": ("codes", "gaussian"),
}
_OPTIONS = (
    "n_rows",
    "units",
    "iterations",
    "learning_rate",
    "loss",
    "start",
    "fixed_input",
    "emphasis",
    "tolerance",
    "stop_at_noise",
    "threads",
    "device",
    "network_seed",
    "max_memory_mb",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class NeuralRows:
    """A mixture of products that a network makes out of fixed noise, trained towards noisy marginals.

    Liu, Vietri, Wu (2021), "Iterative Methods for Private Synthetic Data: Unifying Framework and New Methods"
    (GEM); Chen, Gong, Wang, "Beyond One-Size-Fits-All: Neural Networks for Differentially Private Tabular Data
    Synthesis" (MargNet), algorithm 3. The loss of MargNet is the sum of w ||M(rows) - measured||^2 over the
    measurements, in parts of the whole, with w = 1 / sigma and d times that for those which are new since the
    last fit (equation 6). A second fit to the same measurements has none that are new.

    Departures: measurements are not cut off at 0 before they are fitted, as the public code does, since that
    would add mass to empty cells; batch normalisation uses the statistics of all rows when they are sampled
    also, so that they are what was fitted; products are rounded to bfloat16 where the machine gains by it.

    Saved are the soft rows and the weights. A model that was loaded answers and samples without torch.

    Attributes:
        n_rows: Number of soft rows, the batch of the papers. A pair of columns with more codes each than that
            cannot be fitted exactly (MargNet, theorem 3).
        units: Width of the two blocks.
        iterations: At most so many steps of Adam in one fit.
        learning_rate: Of Adam.
        loss: "squared" as in MargNet, or "largest", the absolute error of the worst cells, as in GEM.
        start: What the rows start from: "codes", one code per column (MargNet), or "gaussian" numbers (GEM).
        fixed_input: Whether that is drawn once, or anew at each step (MargNet, appendix D.4: once is as good).
        emphasis: How much more the newest marginals weigh; None for the number of columns.
        tolerance: A fit stops when 50 steps improve the loss by less than this part.
        stop_at_noise: A fit stops as soon as no marginal is farther from its measurement than noise explains.
        threads: How many train on a processor. The same table and seed give the same model for the same number.
        device: "auto" (a GPU if there is one), or a device as torch names it.
        network_seed: Of the first weights and the input, which are not secret.
        max_memory_mb: Neither training nor a marginal may take more; checked before anything is allocated.
    """

    n_rows: int = 512
    units: int = 256
    iterations: int = 200
    learning_rate: float = 1e-3
    loss: Loss = "squared"
    start: Input = "codes"
    fixed_input: bool = True
    emphasis: float | None = None
    tolerance: float = 1e-3
    stop_at_noise: bool = True
    threads: int = 1
    device: str = "auto"
    network_seed: int = 0
    max_memory_mb: float = 4000.0
    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _rows: Rows | None = field(default=None, repr=False)
    _arrays: Arrays = field(default_factory=dict, repr=False)
    _fitted: Mapping[Clique, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name, least in (
            ("n_rows", 2),
            ("units", 1),
            ("iterations", 1),
            ("threads", 1),
            ("network_seed", 0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ArgumentError(f"{name} must be an integer of at least {least}")
        for name in ("learning_rate", "tolerance", "max_memory_mb"):
            _require_positive(name, getattr(self, name))
        if self.emphasis is not None:
            _require_positive("emphasis", self.emphasis)
        for name in ("fixed_input", "stop_at_noise"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} must be True or False")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ArgumentError(f"{name} must be one of {', '.join(map(repr, allowed))}")
        if not isinstance(self.device, str) or not self.device:
            raise ArgumentError('device must be "auto" or a name of torch, such as "cpu" or "cuda:0"')

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        if self._domain is None:
            raise ArgumentError("this model is not bound to a domain; call over(domain) first")
        return self._domain

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    @property
    def rows(self) -> Rows:
        """The soft rows; one even row for a model that is not fitted."""
        return even_rows(self.domain) if self._rows is None else self._rows

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain.

        Raises:
            MissingExtraError: If torch is not installed: here, so that nothing was spent yet.
        """
        pick_device(self.device)
        return replace(self, _domain=domain, _total=1.0, _rows=None, _arrays={}, _fitted={})

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return the size of rows and weights, at 4 bytes a number; it does not grow with the cliques."""
        width = sum(self.domain.sizes)
        return (2 * self.n_rows * width + network_numbers(self.domain, units=self.units)) * 4 / 2**20

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model trained on all given measurements, from this one's weights.

        Args:
            measurements: At least one; a clique may be measured more than once.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If training would take too much memory; nothing was allocated.
        """
        check_measurements(self.domain, measurements)
        counted = Counter(self.domain.canonical(m.clique) for m in measurements)
        self._check_memory(list(counted))
        total = consistent_total(measurements)
        targets = [t for t in join(self.domain, measurements) if t.clique and t.weight.any()]
        if not targets:
            return replace(self, _total=total)
        device = pick_device(self.device)
        rng = np.random.default_rng([self.network_seed, sum(counted.values())])
        arrays = self._arrays or first_arrays(
            self.domain, rows=self.n_rows, units=self.units, start=self.start, rng=rng
        )
        network = network_of(
            self.domain,
            arrays,
            device=device,
            draw=None if self.fixed_input else lambda: draw_input(self.domain, self.n_rows, self.start, rng),
        )
        stars = make_stars(
            self.domain,
            targets,
            total,
            newest={c for c, n in counted.items() if self._rows and n > self._fitted.get(c, 0)},
            emphasis=len(self.domain) if self.emphasis is None else self.emphasis,
            device=device,
        )
        with training_threads(self.threads):
            fit_rows(
                network,
                stars,
                loss=self.loss,
                iterations=self.iterations,
                learning_rate=self.learning_rate,
                tolerance=self.tolerance,
                stop_at_noise=self.stop_at_noise,
            )
            probabilities = np.concatenate([block.cpu().numpy() for block in network.blocks()], axis=1)
        return replace(
            self,
            _total=total,
            _rows=Rows(self.domain, probabilities),
            _arrays=arrays_of(network, arrays["input"]),
            _fitted=dict(counted),
        )

    def _check_memory(self, cliques: Sequence[Clique]) -> None:
        numbers = training_numbers(self.domain, rows=self.n_rows, units=self.units)
        needed = (numbers + star_numbers(self.domain, cliques, self.n_rows)) * 4 / 2**20
        if needed > self.max_memory_mb:
            raise ResourceError(
                f"training on {len(cliques)} marginals may need {needed:,.0f} MB, above the model's limit of "
                f"{self.max_memory_mb:,.0f} MB; use fewer bins, rows or units, or raise max_memory_mb"
            )

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in its order."""
        return [self._total * t for t in self.rows.marginals(cliques, limit_mb=self.max_memory_mb)]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows out of the soft ones; with `given`, draw the other columns conditionally."""
        return self.rows.sample(n, rng, given)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: options and domain as facts, soft rows and weights as arrays."""
        facts = {
            "columns": list(self.domain.columns),
            "sizes": list(self.domain.sizes),
            "total": self._total,
            "fitted": [[list(c), n] for c, n in self._fitted.items()],
            "options": {name: getattr(self, name) for name in _OPTIONS},
        }
        arrays = {f"network/{name}": array for name, array in self._arrays.items()}
        return facts, arrays | ({} if self._rows is None else {"rows": self._rows.probabilities})

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        try:
            domain = Domain(tuple(facts["columns"]), tuple(facts["sizes"]))
            model = cls(**{name: facts["options"][name] for name in _OPTIONS})
            total = float(facts["total"])
            network = {n.removeprefix("network/"): a for n, a in arrays.items() if n.startswith("network/")}
            if network:
                check_arrays(network, domain, rows=model.n_rows, units=model.units, start=model.start)
            fitted = {domain.canonical(c): int(n) for c, n in facts["fitted"]}
            rows = Rows(domain, arrays["rows"]) if network else None
            if not 0 < total < 1e18 or (rows and len(rows.probabilities) != model.n_rows):
                raise ValueError
            return replace(model, _domain=domain, _total=total, _rows=rows, _arrays=network, _fitted=fitted)
        except (KeyError, TypeError, ValueError, SchemaError, ArgumentError):
            raise ReleaseFileError("the model in this file is incomplete or inconsistent") from None


def _require_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ArgumentError(f"{name} must be a positive number")
