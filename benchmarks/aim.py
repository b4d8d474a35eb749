"""AIM's estimation: on the same measurements as a peer, as tables grow, and part by part.

    python benchmarks/aim.py estimation --pairs 30 60                # the same noisy pairs, ours and mbi's
    python benchmarks/aim.py growth                                  # rows, columns and bins
    python benchmarks/aim.py profile --epsilon 1                     # where the time goes

Whole systems beside peers are the study `benchmarks/studies/systems.yaml`.

`estimation` gives both sides the same noisy pairs of a coded table, lets mbi make its 1,000 steps of mirror
descent, and measures how long ours takes to reach mbi's final weighted squared error. All seconds are
processor seconds, as the machine may be shared. Building models, compiling and reading are not timed,
except mbi's compilation, which every new set of measurements needs and which is shown separately.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from figures import forget_peak, peak_mb
from harness import coded_table
from kernels import print_kernels, timed_kernels

from syntabula import Budget
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable, code_dtype
from syntabula.marginals.measurement import Measurement
from syntabula.models.junction_tree.tree import elimination_order, junction_tree_memory_mb
from syntabula.models.mirror_descent import estimate
from syntabula.models.pgm import PGM
from syntabula.models.targets import joined_targets
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.adaptive import Adaptive


def main() -> None:
    """Run one of the comparisons."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    same = parts.add_parser("estimation")
    same.add_argument("--table", default="adult_coded")
    same.add_argument("--pairs", type=int, nargs="+", default=[30, 60])
    same.add_argument("--most-mb", type=float, default=80.0, help="size of the junction tree")
    same.add_argument("--sigma", type=float, default=20.0)
    same.add_argument("--iterations", type=int, default=1000, help="of mbi")
    growth = parts.add_parser("growth")
    growth.add_argument("--epsilon", type=float, default=1.0)
    profile = parts.add_parser("profile")
    profile.add_argument("--table", default="adult_coded")
    profile.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    if options.part == "estimation":
        compare_estimation(options)
    elif options.part == "growth":
        show_growth(options.epsilon)
    else:
        show_profile(read_coded(options.table), options.epsilon)


def read_coded(name: str) -> EncodedTable:
    """Read a coded table of SYNTABULA_DATA."""
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        coded = coded_table(name, Path(folder))
        frame, sizes = pd.read_parquet(coded.path), coded.sizes
    codes = tuple(frame[c].to_numpy().astype(code_dtype(n)) for c, n in sizes.items())
    return EncodedTable(Domain.from_sizes(sizes), codes)


def compare_estimation(options: argparse.Namespace) -> None:
    """Fit the same noisy pairs by both, and print seconds to the same loss."""
    table = read_coded(options.table)
    domain = table.domain
    print(
        f"| pairs | tree MB | mbi: compile s | mbi: {options.iterations:,} steps s | loss | ours to that loss s "
        "| times ours |"
    )
    print("|---|---|---|---|---|---|---|")
    for n_pairs in options.pairs:
        rng = np.random.default_rng(n_pairs)
        cliques = random_pairs(domain, n_pairs, options.most_mb, rng)
        measurements = [
            Measurement(c, counts + rng.normal(0, options.sigma, counts.shape), options.sigma)
            for c, counts in zip(cliques, MemoryEngine(table).counts(cliques), strict=True)
        ]
        tree_mb = junction_tree_memory_mb(domain, cliques)
        compiling, seconds, loss = fit_by_mbi(domain, measurements, options.iterations)
        ours = seconds_to(domain, measurements, loss, float(table.n_rows))
        print(
            f"| {len(cliques)} | {tree_mb:.1f} | {compiling:.1f} | {seconds:.2f} | {loss:.1f} | {ours:.3f} "
            f"| {seconds / ours:.0f} |",
            flush=True,
        )


def random_pairs(
    domain: Domain, n_pairs: int, most_mb: float, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """Return random pairs whose junction tree stays below a size; fewer if no more fit."""
    chosen: list[tuple[str, ...]] = []
    every = list(combinations(domain.columns, 2))
    for position in rng.permutation(len(every)):
        if junction_tree_memory_mb(domain, [*chosen, every[position]]) <= most_mb:
            chosen.append(every[position])
        if len(chosen) == n_pairs:
            break
    return chosen


def weighted_error(measurements: list[Measurement], tables: list[np.ndarray]) -> float:
    """Return half the sum of squared errors over their variance."""
    errors = [(t - m.values) / m.sigma for m, t in zip(measurements, tables, strict=True)]
    return float(sum(0.5 * np.vdot(e, e) for e in errors))


def fit_by_mbi(
    domain: Domain, measurements: list[Measurement], iterations: int
) -> tuple[float, float, float]:
    """Return seconds of the first step (compilation) and of the others, and the last loss."""
    import jax
    import mbi
    from mbi.estimation import MirrorDescent

    jax.config.update("jax_enable_x64", True)
    theirs = [mbi.LinearMeasurement(m.values.ravel(), m.clique, float(m.sigma)) for m in measurements]
    their_domain = mbi.Domain(domain.columns, domain.sizes)
    started = time.process_time()
    MirrorDescent().estimate(their_domain, theirs, iters=1)
    compiling = time.process_time() - started
    started = time.process_time()
    model = MirrorDescent().estimate(their_domain, theirs, iters=iterations)
    tables = [np.asarray(model.project(m.clique).datavector()).reshape(m.values.shape) for m in measurements]
    return compiling, time.process_time() - started, weighted_error(measurements, tables)


def seconds_to(domain: Domain, measurements: list[Measurement], loss: float, total: float) -> float:
    """Return the seconds that our estimation takes to reach a loss, by doubling its number of steps."""
    layout = PGM().over(domain)._layout
    targets = joined_targets(layout, measurements)
    steps = 4
    while True:
        started = time.process_time()
        order = elimination_order(layout, [t.clique for t in targets])
        potentials, _ = estimate(
            layout, order, targets, {}, total, iterations=steps, tolerance=1e-12, stop_at_noise=False
        )
        seconds = time.process_time() - started
        facts, _ = PGM(max_memory_mb=4000).over(domain).state()
        facts = {**facts, "cliques": [list(c) for c in potentials], "total": total}
        model = PGM.from_state(facts, {f"potential/{i}": p for i, p in enumerate(potentials.values())})
        if weighted_error(measurements, model.marginals([m.clique for m in measurements])) <= loss:
            return seconds
        if steps > 100_000:
            return float("nan")
        steps *= 2


def show_growth(epsilon: float) -> None:
    """Print AIM's processor seconds and memory as a simulated table grows in rows, columns and bins."""
    print(
        "| rows | columns | bins | counting s | all else s | rounds | tree MB | peak MB |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    grown = [(n, 10, 20) for n in (10**4, 10**5, 10**6, 10**7)]
    grown += [(50_000, d, 20) for d in (10, 20, 30, 50)]
    grown += [(50_000, 10, b) for b in (10, 20, 50, 100)]
    for n_rows, n_columns, n_bins in grown:
        table = simulated(n_rows, n_columns, n_bins)
        forget_peak()
        engine = TimedEngine(table)
        curator = Curator(engine, Ledger(Budget(epsilon, 1e-5)), SeededNoise(0))
        started = time.process_time()
        model = Adaptive().select(curator, PGM())
        seconds = time.process_time() - started
        tree = getattr(model, "inner", model)._tree
        print(
            f"| {n_rows:,} | {n_columns} | {n_bins} | {engine.seconds:.2f} | {seconds - engine.seconds:.2f} "
            f"| {len(curator.ledger.entries) // 2} | {tree.cells * 8 / 2**20:.1f} "
            f"| {peak_mb():.0f} |",
            flush=True,
        )


class TimedEngine(MemoryEngine):
    """Counts, and records how long it took."""

    seconds = 0.0

    def counts(self, cliques):
        """Count, and add to the time."""
        started = time.process_time()
        found = super().counts(cliques)
        self.seconds += time.process_time() - started
        return found


def simulated(n_rows: int, n_columns: int, n_bins: int) -> EncodedTable:
    """Draw rows of a Gaussian chain, each column in bins of equal width over four standard deviations."""
    rng = np.random.default_rng(0)
    codes = []
    value = rng.standard_normal(n_rows)
    for _ in range(n_columns):
        value = 0.8 * value + 0.6 * rng.standard_normal(n_rows)
        codes.append(np.clip((value + 4) / 8 * n_bins, 0, n_bins - 1).astype(code_dtype(n_bins)))
    return EncodedTable(Domain.from_sizes({f"x{i}": n_bins for i in range(n_columns)}), tuple(codes))


def show_profile(table: EncodedTable, epsilon: float) -> None:
    """Print the time of counting, scoring, estimation and sampling in one run, and the bandwidth of its kernels.

    The times are processor seconds under a profiler, which overstates short calls; the kernels are timed in another
    run with the same noise.
    """
    profiler = cProfile.Profile(time.process_time)  # the machine may be shared
    curator = Curator(MemoryEngine(table), Ledger(Budget(epsilon, 1e-5)), SeededNoise(0))
    started = time.process_time()
    profiler.enable()
    model = Adaptive().select(curator, PGM())
    model.sample(table.n_rows, np.random.default_rng(0))
    profiler.disable()
    seconds = time.process_time() - started
    parts = {
        "counting": "memory.py:counts",
        "noise": "mechanisms.py:noisy_counts",
        "choice": "curator.py:choose",
        "sizes of candidates": "adaptive.py:_affordable",
        "tables of the tree": "calibration.py:clique_tables",
        "answers to candidates": "queries.py:marginal_probabilities",
        "estimation": "mirror_descent.py:estimate",
        "sampling": "sample.py:sample_rows",
    }
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    spent = {f"{Path(file).name}:{name}": figures[3] for (file, _, name), figures in stats.items()}
    print(json.dumps({"processor_seconds": round(seconds, 2), "rounds": len(curator.ledger.entries) // 2}))
    for part, where in parts.items():
        print(f"| {part} | {spent.get(where, 0.0):.2f} s | {spent.get(where, 0.0) / seconds:.0%} |")
    curator = Curator(MemoryEngine(table), Ledger(Budget(epsilon, 1e-5)), SeededNoise(0))
    with timed_kernels() as kernels:
        Adaptive().select(curator, PGM())
    print_kernels(kernels)


if __name__ == "__main__":
    main()
