"""One run of AIM or of all pairs by the mbi library (version 2) on codes, where mbi is installed; see `adapter`.

python mbi.py METHOD CODES.csv SIZES.json OUT.csv EPSILON DELTA RHO SEED

The library estimates; the mechanisms are written here, as the package has none. "aim" has the constants of the authors'
public mechanism: all pairs, 16 d planned rounds, 80 MB, 1,000 steps of mirror descent a round from the last model.
"independent" measures single columns alone.

The noise is drawn here, from numpy and in floating point, although only `privacy` may draw noise for a release: this
script is the peer's side of a comparison, runs where this library is not installed, and has no ledger. Nothing of what
it returns is private, and no method of this library may use it.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

_STEPS = 1000
_LARGEST_MB = 80
_MEASURED = 0.9


def main() -> None:
    """Read codes and the number of codes of each column, fit, write codes."""
    method, codes, sizes, out, _, _, rho, seed = sys.argv[1:9]
    import jax

    jax.config.update("jax_enable_x64", True)
    import numpy as np

    np.random.seed(int(seed))  # noqa: NPY002 - the library draws rows from this generator
    rows = np.loadtxt(codes, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    counts = [int(n) for n in json.loads(Path(sizes).read_text()).values()]
    names = [f"c{place}" for place in range(len(counts))]
    run = Run(rows, dict(zip(names, counts, strict=True)), float(rho), np.random.default_rng(int(seed)))
    model = run.aim() if method == "aim" else run.independent()
    synthetic = model.synthetic_data(len(rows))
    made = np.column_stack([np.asarray(synthetic.data[name]) for name in names])
    np.savetxt(out, made, fmt="%d", delimiter=",", header=",".join(names), comments="")


class Run:
    """One run of a mechanism, by zCDP."""

    def __init__(self, rows: Any, sizes: dict[str, int], rho: float, rng: Any) -> None:
        from mbi import Domain
        from mbi.estimation import MirrorDescent

        self.rows, self.sizes, self.rho, self.rng = rows, sizes, rho, rng
        self.domain = Domain(tuple(sizes), tuple(sizes.values()))
        self.estimator = MirrorDescent()

    def independent(self) -> Any:
        """Measure every column for an equal part of the budget."""
        sigma = math.sqrt(len(self.sizes) / (2 * self.rho))
        measured = [self._measured((name,), sigma) for name in self.sizes]
        return self.estimator.estimate(self.domain, measured, iters=_STEPS)

    def aim(self) -> Any:
        """Measure, round by round, the pair that the model gets most wrong."""
        import jax
        import numpy as np
        from mbi import junction_tree

        pairs = list(combinations(self.sizes, 2))
        candidates = [*((name,) for name in self.sizes), *pairs]
        weight = {r: sum(len(set(r) & set(p)) for p in pairs) for r in candidates}
        n_rounds = 16 * len(self.sizes)
        sigma = math.sqrt(n_rounds / (2 * _MEASURED * self.rho))
        epsilon = math.sqrt(8 * (1 - _MEASURED) * self.rho / n_rounds)
        measured = [self._measured((name,), sigma) for name in self.sizes]
        used = len(self.sizes) * 0.5 / sigma**2
        model = self.estimator.estimate(self.domain, measured, iters=_STEPS)
        finished = False
        while not finished:
            jax.clear_caches()  # every new structure is compiled again, and kept programs exhaust memory maps
            if self.rho - used < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
                left = self.rho - used
                sigma = math.sqrt(1 / (2 * _MEASURED * left))
                epsilon = math.sqrt(8 * (1 - _MEASURED) * left)
                finished = True
            used += 0.5 / sigma**2 + epsilon**2 / 8
            known = list(dict.fromkeys(m.clique for m in measured))
            now = junction_tree.hypothetical_model_size(self.domain, known)
            most = max(_LARGEST_MB * used / self.rho, now)
            open_now = [
                r
                for r in candidates
                if junction_tree.hypothetical_model_size(self.domain, [*known, r]) <= most
            ]
            bias = math.sqrt(2 / math.pi) * sigma
            scores = np.array(
                [weight[r] * (self._error(model, r) - bias * self._counts(r).size) for r in open_now]
            )
            noisy = 0.5 * epsilon / max(weight.values()) * scores + self.rng.gumbel(size=len(open_now))
            chosen = open_now[int(np.argmax(noisy))]
            before = self._believed(model, chosen)
            measured.append(self._measured(chosen, sigma))
            model = self.estimator.estimate(self.domain, measured, iters=_STEPS, warm_start=model)
            if np.abs(self._believed(model, chosen) - before).sum() <= bias * before.size:
                sigma, epsilon = sigma / 2, epsilon * 2
        return model

    def _counts(self, clique: tuple[str, ...]) -> Any:
        import numpy as np

        names = list(self.sizes)
        shape = tuple(self.sizes[name] for name in clique)
        cells = np.ravel_multi_index(tuple(self.rows[:, names.index(name)] for name in clique), shape)
        return np.bincount(cells, minlength=math.prod(shape)).astype(float)

    def _measured(self, clique: tuple[str, ...], sigma: float) -> Any:
        from mbi import LinearMeasurement

        exact = self._counts(clique)
        return LinearMeasurement(exact + self.rng.normal(0, sigma, exact.size), clique, sigma)

    def _believed(self, model: Any, clique: tuple[str, ...]) -> Any:
        import numpy as np

        return np.asarray(model.project(clique).datavector())

    def _error(self, model: Any, clique: tuple[str, ...]) -> float:
        import numpy as np

        return float(np.abs(self._counts(clique) - self._believed(model, clique)).sum())


if __name__ == "__main__":
    main()
