"""Times a training step with clipped gradients and noise beside a plain one, in processor milliseconds.

    python benchmarks/training_step.py --units 256 --batch 1024

The network has two hidden layers and predicts one of as many classes as it has inputs. A plain step is a mean loss, its
backward pass and AdamW. A private step finds each record's length, sums clipped gradients, adds noise and takes the
same AdamW step. The sides take turns on one thread, and medians count.
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

from syntabula.privacy.noise import SecureNoise
from syntabula.privacy.training.per_record import clipped_sum

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
    torch.set_num_threads(1)
    step = Step(options.inputs, options.units, options.batch)
    parts: dict[str, Callable[[], object]] = {
        "plain step": step.plain,
        "clipped gradients and AdamW": step.clipped,
        "noise": step.noise,
    }
    times: dict[str, list[float]] = {name: [] for name in parts}
    for run in parts.values():
        run()
    for _ in range(options.repeats):
        for name, run in parts.items():
            started = time.process_time()
            run()
            times[name].append(1e3 * (time.process_time() - started))
    plain = median(times["plain step"])
    print(
        f"{step.cells:,} parameters, {options.batch:,} records\n\n| part | ms | times a plain step |\n|---|---|---|"
    )
    for name, taken in times.items():
        print(f"| {name} | {median(taken):.1f} | {median(taken) / plain:.2f} |")
    print(f"\nnoise: {1e3 * median(times['noise']) / step.cells:.3f} microseconds a parameter")


class Step:
    """One step of a network of two hidden layers on random records."""

    def __init__(self, inputs: int, units: int, batch: int) -> None:
        random = torch.Generator().manual_seed(0)
        shapes = {"first": (units, inputs), "second": (units, units), "last": (inputs, units)}
        self.parameters: dict[str, Tensor] = {}
        for name, shape in shapes.items():
            self.parameters[name] = torch.randn(shape, generator=random) / shape[1] ** 0.5
            self.parameters[f"{name} bias"] = torch.zeros(shape[0])
        self.cells = sum(p.numel() for p in self.parameters.values())
        self.values = torch.randn((batch, inputs), generator=random)
        self.classes = torch.randint(inputs, (batch,), generator=random)
        self.records = torch.arange(batch)[:, None]
        self.random = random
        self.source = SecureNoise()
        self.sums = np.zeros(self.cells, np.int64)
        self.optimiser = torch.optim.AdamW([*self.parameters.values()], fused=True)

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
        self.losses(self.records, self.random).mean().backward()
        self.optimiser.step()
        for p in self.parameters.values():
            p.requires_grad_(False)

    def clipped(self) -> None:
        """Take a step by the sum of clipped gradients, without noise."""
        found = clipped_sum(self.losses, self.parameters, self.records, self.random, clip=1.0)
        for name, p in self.parameters.items():
            p.grad = (found[name] / len(self.records)).to(p)
        self.optimiser.step()

    def noise(self) -> None:
        """Draw the noise of a step."""
        self.source.gaussian_vector(self.sums, SCALE)


if __name__ == "__main__":
    main()
