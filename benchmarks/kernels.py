"""How close the kernels of the graphical model come to the machine's memory bandwidth.

Each kernel is timed without those it calls, and the bytes it must read and write are added up: all arguments and
results once. They are compared, call by call, with the time of a plain copy of as many bytes, in cache or out of
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syntabula.models import factor_graph, mirror_descent
from syntabula.models.junction_tree import calibration, pairs

clock = time.thread_time
LARGE = 2**18
"""Least bytes of a call that is dominated by moving data; below, the call itself costs most."""


@dataclass
class Kernel:
    """Measurements of one function.

    Attributes:
        name: What it does.
        seconds: Processor seconds of each call, without those of other kernels within.
        moved: Bytes that each call must read and write.
        operations: Multiplications and additions of its matrix products, all calls together.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    operations: float = 0.0


@contextmanager
def timed_kernels() -> Iterator[list[Kernel]]:
    """Time the inner functions while the block runs."""
    step, group = factor_graph.SumOut, factor_graph.Group
    places: list[tuple[str, Any, str]] = [
        ("multiply the tables of a column", group, "multiply"),
        ("sum a column out (matrix products)", step, "contract"),
        ("joint probabilities (matrix products)", step, "spread"),
        ("marginals into the order of their tables", group, "spread"),
        ("sum marginals from joints", factor_graph, "sum_over"),
        ("divide probabilities by messages", factor_graph, "_ratio"),
        ("message into the order of the next step", step, "arrange"),
        ("and back", step, "arrange_back"),
        ("tables of the junction tree", calibration, "_product"),
        ("sum tables of the junction tree", calibration, "sum_over"),
        ("carry columns across a clique", pairs._Inside, "carry"),
        ("join what branches say", pairs, "_joined"),
        ("sum tables for pairs", pairs, "sum_over"),
        ("the walk over the cliques itself", pairs, "_run"),
        ("the walk over the steps itself", factor_graph.FactorGraph, "marginals"),
        ("exponentials, losses and gradients", mirror_descent._Objective, "__call__"),
    ]
    kernels, within = [], [0.0]
    originals = [getattr(owner, name) for _, owner, name in places]
    for (title, owner, name), original in zip(places, originals, strict=True):
        kernels.append(Kernel(title))
        setattr(owner, name, _timed(original, kernels[-1], within))
    try:
        yield kernels
    finally:
        for (_, owner, name), original in zip(places, originals, strict=True):
            setattr(owner, name, original)


def _timed(function: Callable[..., Any], kernel: Kernel, within: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        before, within[0] = within[0], 0.0
        started = clock()
        result = function(*arguments, **named)
        spent = clock() - started
        kernel.seconds.append(spent - within[0])
        within[0] = before + spent
        # A table that is passed on unchanged moves nothing.
        kernel.moved.append(0 if result is arguments[0] else _bytes(arguments) + _bytes(result))
        if kernel.name.endswith("(matrix products)") and arguments[2] is not None:
            one, other = arguments[1:3]
            kernel.operations += 2.0 * one.size * other.shape[2] * (2 if len(arguments) == 4 else 1)
        return result

    return timed


def _bytes(values: Any) -> int:
    if isinstance(values, np.ndarray):
        return values.nbytes
    if isinstance(values, pairs._Message):
        return values.table.nbytes
    if isinstance(values, dict):
        values = list(values.values())
    return sum(map(_bytes, values)) if isinstance(values, list | tuple) else 0


def copy_times() -> tuple[np.ndarray, np.ndarray]:
    """Return total bytes read and written by a copy, and its seconds."""
    sizes = 2 ** np.arange(8, 28)
    seconds = []
    for size in sizes:
        source = np.ones(size // 16)
        target = np.empty_like(source)
        repeats = int(np.clip(2**22 // size, 3, 2000))
        runs = []
        for _ in range(5):
            started = clock()
            for _ in range(repeats):
                np.copyto(target, source)
            runs.append((clock() - started) / repeats)
        seconds.append(min(runs))
    return sizes, np.array(seconds)


def print_kernels(kernels: list[Kernel]) -> None:
    """Print seconds and bandwidth of each kernel, and compare the hottest with a copy."""
    sizes, seconds = copy_times()
    print("\n| a copy that moves | GB/s |\n|---|---|")
    for exponent in (14, 18, 20, 22, 24, 26):
        print(f"| {2**exponent / 2**10:,.0f} kB | {2**exponent / seconds[exponent - 8] / 1e9:.0f} |")
    print(
        "\n| kernel | calls | processor s | GB | GB/s | of a copy | processor s in large calls | of a copy |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    kernels = sorted((k for k in kernels if k.seconds), key=lambda k: -sum(k.seconds))
    for k in kernels:
        spent, moved = np.array(k.seconds), np.array(k.moved, dtype=float)
        copy = np.exp(np.interp(np.log(np.maximum(moved, 1)), np.log(sizes), np.log(seconds))) * (moved > 0)
        large = moved >= LARGE
        part = f"{copy[large].sum() / spent[large].sum():.0%}" if large.any() else ""
        print(
            f"| {k.name} | {spent.size:,} | {spent.sum():.2f} | {moved.sum() / 1e9:.2f} "
            f"| {moved.sum() / spent.sum() / 1e9:.1f} | {copy.sum() / spent.sum():.0%} "
            f"| {spent[large].sum():.2f} | {part} |"
        )
        if k is kernels[0]:
            hottest = (
                f"hottest kernel: {k.name}, moves {moved.sum() / 1e9:.2f} GB in {spent.sum():.2f} s = "
                f"{copy.sum() / spent.sum():.0%} of what copies of the same sizes reach"
            )
            if k.operations:
                rate, best = k.operations / spent.sum() / 1e9, _product_rate()
                hottest += (
                    f"; its products make {rate:.0f} GFLOP/s, moving included, "
                    f"{rate / best:.0%} of the {best:.0f} of a product of 500 x 500"
                )
            elif large.any():
                hottest += f" ({part} in calls of {LARGE // 2**10} kB or more)"
    print(f"\n{hottest}")


def _product_rate() -> float:
    """Return the GFLOP/s of the product of two matrices that fit the cache, in single precision."""
    matrix = np.random.default_rng(0).random((500, 500), dtype=np.float32)
    runs = []
    for _ in range(9):
        started = clock()
        matrix @ matrix
        runs.append(clock() - started)
    return 2 * 500**3 / min(runs) / 1e9
