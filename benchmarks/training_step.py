"""Times a training step with clipped gradients and noise beside a plain one, in processor milliseconds.

    python benchmarks/training_step.py --units 256 --batch 1024

The network has two hidden layers and predicts one of as many classes as it has inputs. A plain step is a mean loss, its
backward pass and AdamW. A private step is what a training takes: it samples records, finds each one's length, sums
clipped gradients, rounds them, adds noise and takes the same AdamW step, on as many records on average. The sides take
turns on one thread, and medians count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

from syntabula._threads import training_threads
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise
from syntabula.privacy.training.per_record import clipped_sum
from syntabula.privacy.training.records import RecordCurator

BATCHES = 20
"""Size of the table, in batches."""

SCALE = 2.0**20
"""Of the noise, in steps of its grid: about what training uses."""


def main() -> None:
    """Parse arguments, time all parts, print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=128)
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=100)
    options = parser.parse_args()
    with training_threads(1):
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    step = Step(options.inputs, options.units, options.batch, options.repeats)
    parts: dict[str, Callable[[], object]] = {
        "plain step": step.plain,
        "private step": step.private,
        "of it, clipped gradients": step.clipped,
        "of it, noise": step.noise,
    }
    times: dict[str, list[float]] = {name: [] for name in parts}
    for run in parts.values():
        run()
    for _ in range(options.repeats):
        for name, run in parts.items():
            started = time.process_time()
            run()
            times[name].append(1e3 * (time.process_time() - started))
    plain = times["plain step"]
    print(f"{step.cells:,} parameters, {options.batch:,} records\n")
    print("| part | ms | least | times the plain step beside it |\n|---|---|---|---|")
    for name, taken in times.items():
        ratio = median(a / b for a, b in zip(taken, plain, strict=True))
        print(f"| {name} | {median(taken):.1f} | {min(taken):.1f} | {ratio:.2f} |")
    print(f"\nnoise: {1e3 * median(times['of it, noise']) / step.cells:.3f} microseconds a parameter")


class Step:
    """One step of a network of two hidden layers on random records."""

    def __init__(self, inputs: int, units: int, batch: int, repeats: int) -> None:
        random = torch.Generator().manual_seed(0)
        shapes = {"first": (units, inputs), "second": (units, units), "last": (inputs, units)}
        self.parameters: dict[str, Tensor] = {}
        for name, shape in shapes.items():
            self.parameters[name] = torch.randn(shape, generator=random) / shape[1] ** 0.5
            self.parameters[f"{name} bias"] = torch.zeros(shape[0])
        self.cells = sum(p.numel() for p in self.parameters.values())
        self.values = torch.randn((BATCHES * batch, inputs), generator=random)
        self.classes = torch.randint(inputs, (BATCHES * batch,), generator=random)
        self.batch = batch
        self.random = random
        self.source = SecureNoise()
        self.sums = np.zeros(self.cells, np.int64)
        self.optimiser = torch.optim.AdamW([*self.parameters.values()], fused=True)
        # The only column of the table says which record it is.
        n = BATCHES * batch
        table = EncodedTable(Domain.from_sizes({"record": n}), (np.arange(n, dtype=np.uint32),))
        ledger = Ledger(Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6))
        self.session = RecordCurator(Curator(MemoryEngine(table), ledger, self.source)).training(
            self.losses,
            self.parameters,
            rate=1 / BATCHES,
            steps=repeats + 1,
            clip=1.0,
            total=float(n),
            share=1.0,
            step="train",
        )

    def some(self) -> Tensor:
        """Return the places of as many records as a step takes on average."""
        return torch.randint(len(self.values), (self.batch, 1), generator=self.random)

    def losses(self, records: Tensor, random: Generator) -> Tensor:
        """Return the loss of each record."""
        p, x = self.parameters, self.values[records[:, 0]]
        for name in ("first", "second"):
            x = functional.relu(functional.linear(x, p[name], p[f"{name} bias"]))
        scores = functional.linear(x, p["last"], p["last bias"])
        return functional.cross_entropy(scores, self.classes[records[:, 0]], reduction="none")

    def plain(self) -> None:
        """Take a step without privacy."""
        for p in self.parameters.values():
            p.grad = None
            p.requires_grad_()
        self.losses(self.some(), self.random).mean().backward()
        self.optimiser.step()
        for p in self.parameters.values():
            p.requires_grad_(False)

    def private(self) -> None:
        """Take a step as training does."""
        for name, gradient in self.session.gradient().items():
            self.parameters[name].grad = gradient
        self.optimiser.step()

    def clipped(self) -> None:
        """Sum clipped gradients."""
        clipped_sum(self.losses, self.parameters, self.some(), self.random, clip=1.0)

    def noise(self) -> None:
        """Draw the noise of a step."""
        self.source.gaussian_vector(self.sums, SCALE)


if __name__ == "__main__":
    main()
