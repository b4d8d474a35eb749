"""What accounting in Gaussian differential privacy gains over zCDP, for the same epsilon and delta.

    python benchmarks/accounting.py gains
    python benchmarks/accounting.py noise --methods mst aim ...     what each kind of draw gets
    python benchmarks/accounting.py training --settings 300    epsilon of trainings, beside that of dp-accounting

What it gains in distance is a pair of studies, `benchmarks/studies/accounting_gdp.yaml` and `accounting_zcdp.yaml`.
`noise` needs SYNTABULA_DATA. Noise is seeded: these are experiments, not releases.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from harness import coded_table

import syntabula as st
from syntabula.privacy.conversion import epsilon_from_mu, mu_from_epsilon
from syntabula.privacy.events import ExponentialEvent, GaussianEvent
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.training.prices import training_delta_part, training_noise
from syntabula.privacy.training.sampled import training_mu

ACCOUNTINGS = ("zcdp", "gdp")


def main() -> None:
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("gains", "noise", "training"))
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 1.0, 5.0, 10.0])
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--table", default="adult_coded")
    parser.add_argument("--settings", type=int, default=300)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "gains":
        gains(given.epsilons)
    elif given.what == "training":
        training(given.settings)
    else:
        noise(given.methods, given.epsilons, given.delta, given.table)


def training(settings: int) -> None:
    """Print by how much the stated epsilon of random trainings exceeds that of exact composition."""
    from dp_accounting.pld import privacy_loss_distribution

    lost, noises, parts, seconds = [], [], [], []
    for seed in range(settings):
        generator = np.random.default_rng([11, seed])
        rate = 10 ** generator.uniform(-2.7, 0)
        # Each record is taken ten times or more on average.
        steps = int(max(10, min(10 / rate * 10 ** generator.uniform(0, 2), 20_000)))
        delta = 10 ** generator.uniform(-9, -4)
        epsilon = 10 ** generator.uniform(-0.7, 0.8)
        started = time.process_time()
        part = float(training_delta_part(epsilon, delta, rate, steps))
        mu = mu_from_epsilon(epsilon, (1 - part) * delta)
        noise = training_noise(Fraction(mu) ** 2, rate, steps, part * delta)
        seconds.append(time.process_time() - started)
        epsilon = epsilon_from_mu(training_mu(noise, rate, steps, part * delta), (1 - part) * delta)
        one = privacy_loss_distribution.from_gaussian_mechanism(
            noise, sampling_prob=rate, value_discretization_interval=min(1e-4, epsilon / 15_000)
        )
        lost.append(epsilon / one.self_compose(steps).get_epsilon_for_delta(delta) - 1)
        noises.append(noise)
        parts.append(part)
    print(f"processor seconds: median {np.median(seconds):.2f}, most {max(seconds):.2f}")
    print(f"part of delta set aside: {dict(sorted(Counter(parts).items()))}")
    print(f"{settings} settings: from {min(lost):.2%} to {max(lost):.2%} more, median {np.median(lost):.2%}")
    for place in np.flatnonzero(np.array(lost) > 0.01):
        print(f"  {lost[place]:.2%} at noise {noises[place]:.2f} (setting {place})")


def gains(epsilons: list[float]) -> None:
    """Print how much more the same total buys, which is equal for Gaussian noise and small choices."""
    deltas = (1e-3, 1e-5, 1e-6, 1e-9, 1e-12)
    print("| epsilon | " + " | ".join(f"delta {d:g}" for d in deltas) + " |")
    print("|---" * (len(deltas) + 1) + "|")
    for epsilon in epsilons:
        ratios = []
        for delta in deltas:
            totals = {a: st.Budget(epsilon, delta, accounting=a).total for a in ACCOUNTINGS}
            ratios.append(float(totals["gdp"] / (2 * totals["zcdp"])))
        print(f"| {epsilon:g} | " + " | ".join(f"{r - 1:+.1%}" for r in ratios) + " |")


def fit(
    method: str, table: Any, epsilon: float, delta: float, accounting: str, seed: int, **more: Any
) -> Any:
    """Fit a method to a coded table."""
    sizes = table.sizes
    schema = st.Schema({name: st.Numeric(0, size - 1, integer=True) for name, size in sizes.items()})
    budget = st.Budget(epsilon, delta, accounting=accounting)
    synthesizer = st.synthesizer(method)(
        budget=budget, bins=max(sizes.values()), rare=None, seed=seed, **more
    )
    return synthesizer.fit(str(table.path), schema)


def noise(methods: list[str], epsilons: list[float], delta: float, name: str) -> None:
    """Print the share of each kind of draw, and its gain in precision.

    Noise is compared by precision, which is proportional to the budget: sum of 1 / sigma^2 per squared
    sensitivity for counts, sum of epsilon^2 for choices. Both runs have the same seed.
    """
    print("| method | epsilon | counts, share | gain | choices, share | gain |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        table = coded_table(name, Path(folder))
        for method, epsilon in itertools.product(methods, epsilons):
            sums: dict[str, dict[str, float]] = {}
            shares: dict[str, float] = {}
            for accounting in ACCOUNTINGS:
                path = Path(folder) / f"{method} {epsilon} {accounting}.journal"
                budget = fit(method, table, epsilon, delta, accounting, 0, journal=path).privacy.budget
                with Journal(path) as journal:
                    ledger = Ledger(budget, journal)
                sums[accounting] = defaultdict(float)
                for entry in ledger.entries:
                    match entry.event:
                        case GaussianEvent(sigma=sigma, l2_sensitivity_squared=squared):
                            kind, precision = "counts", float(squared) / sigma**2
                        case ExponentialEvent(epsilon=parameter):
                            kind, precision = "choices", parameter**2
                        case _:
                            kind, precision = "other", 1.0
                    sums[accounting][kind] += precision
                    if accounting == "gdp":
                        shares[kind] = shares.get(kind, 0.0) + float(entry.cost / ledger.budget.total)
            cells = [
                f"{shares[k]:.0%} | {sums['gdp'][k] / sums['zcdp'][k] - 1:+.1%}" if k in shares else " | "
                for k in ("counts", "choices")
            ]
            print(f"| {method} | {epsilon:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
