"""Compares a training step of MargNet with its public code: processor milliseconds by the number of pairs.

    MARGNET=margnet python benchmarks/peer_steps.py --table adult_margnet --pairs 1 30 105

Both train 512 rows with two blocks of 256 units towards the same random marginals, all single columns and the given
number of pairs, without early stopping, on one thread. The public code is a checkout of KaiChen9909/margnet. The
two sides take turns, and the least of some repeats counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from harness import coded_table

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.neural import NeuralRows

ROWS, UNITS, RECORDS = 512, 256, 25_000


def main() -> None:
    """Parse arguments, time both sides, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult_margnet")
    parser.add_argument("--pairs", type=int, nargs="+", default=[1, 30, 105])
    parser.add_argument("--steps", type=int, default=10, help="of one timing")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        domain = Domain.from_sizes(coded_table(options.table, Path(folder)).sizes)
        print("| pairs | cells | ours, ms | public, ms | times ours |")
        print("|---|---|---|---|---|")
        for n_pairs in options.pairs:
            rng = np.random.default_rng(0)
            pairs = list(combinations(domain.columns, 2))
            chosen = [pairs[i] for i in rng.permutation(len(pairs))[:n_pairs]]
            cells = sum(domain.cells(c) for c in chosen)
            wanted = {
                c: rng.dirichlet(np.ones(domain.cells(c))) for c in [*((c,) for c in domain.columns), *chosen]
            }
            sides = (ours(domain, wanted), public(domain, wanted, folder))
            times: list[list[tuple[float, float]]] = [[], []]
            for _ in range(options.repeats):
                for number, train in enumerate(sides):
                    train(1)
                    times[number].append((_milliseconds(train, 2), _milliseconds(train, 2 + options.steps)))
            # The difference between many and few steps, using the fastest repeat of each.
            few_and_many = np.min(times, axis=1)
            least = (few_and_many[:, 1] - few_and_many[:, 0]) / options.steps
            print(f"| {n_pairs} | {cells:,} | {least[0]:.1f} | {least[1]:.1f} | {least[1] / least[0]:.1f} |")


def ours(domain: Domain, wanted: dict[Clique, np.ndarray]) -> Callable[[int], object]:
    """Return a function that trains our network for a number of steps."""
    measured = [
        Measurement(c, RECORDS * m.reshape([domain.size(x) for x in c]), 10.0) for c, m in wanted.items()
    ]

    def train(steps: int) -> object:
        model = NeuralRows(
            n_rows=ROWS, units=UNITS, iterations=steps, stop_at_noise=False, tolerance=1e-12, device="cpu"
        )
        return model.over(domain).fit(measured)

    return train


def public(domain: Domain, wanted: dict[Clique, np.ndarray], folder: str) -> Callable[[int], object]:
    """Return a function that trains the public network for a number of steps."""
    sys.path.insert(0, str(Path(os.environ["MARGNET"]).resolve()))
    from method.MargDL.scripts.gan import MargGAN

    sizes = dict(zip(domain.columns, domain.sizes, strict=True))
    configuration = {
        "train": {"batch_size": ROWS},
        "model_params": {"data_dim": sum(domain.sizes), "d_layers": [UNITS, UNITS]},
    }
    network = MargGAN(configuration, sizes, "cpu", parent_dir=folder)
    network.store_marginals([(c, m, 1.0) for c, m in wanted.items()])
    return lambda steps: network.train_model(1e-3, steps)


def _milliseconds(train: Callable[[int], object], steps: int) -> float:
    started = time.process_time()
    train(steps)
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    main()
