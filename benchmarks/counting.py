"""Counts all pairs of a table with ours, DuckDB and polars, and compares with passes over the same bytes, in one run.

    python benchmarks/counting.py
    python benchmarks/counting.py --rows 1000000 --columns 10 --codes 10 --ways 2 --repeats 7
    python benchmarks/counting.py --table adult_coded.parquet --domain adult_coded.domain.json

Each figure is the best of the repeats in wall-clock time, and in processor time, data in memory and warm. "One
pass over the bytes" can mean several things, and each is timed, from the fastest to the slowest:

- `table`: every column read once, by numpy's vectorised a.max(): no method that reads every row is faster;
- `pairs, cached`: both columns of every clique, by numpy's vectorised a + b, at the speed of the cache;
- `pairs, memory`: as many bytes, read once from an array that no cache holds;
- `pairs, sum`: both columns of every clique, by numpy's a.sum(), which widens each byte to 64 bits.

Counting cannot be vectorised in this way: it must add one to a cell for every row and histogram. That lower
bound is also timed: `increments` adds as many ones to as many cells whose positions are already known. All
counts are compared with ours, and the run stops if one differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from syntabula.marginals.counting import BLOCK_CELLS, CHUNK_ROWS, MemoryEngine, cover
from syntabula.marginals.domain import Clique, Domain, EncodedTable


def best_seconds(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the shortest wall-clock and processor time of several runs, after one untimed run."""
    work()
    times = []
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start, time.process_time() - used))
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)


def random_table(rows: int, columns: int, codes: int) -> EncodedTable:
    rng = np.random.default_rng(0)
    domain = Domain(tuple(f"c{i}" for i in range(columns)), (codes,) * columns)
    return EncodedTable(domain, tuple(rng.integers(0, codes, rows) for _ in range(columns)))


def stored_table(table: Path, domain: Path) -> EncodedTable:
    import duckdb

    sizes = json.loads(domain.read_text())
    columns = duckdb.sql(f"select * from read_parquet('{table}')").fetchnumpy()
    return EncodedTable.from_mapping(
        Domain.from_sizes(sizes), {c: np.asarray(columns[c]).astype(np.int64) for c in sizes}
    )


def add_pass(table: EncodedTable, cliques: list[Clique]) -> None:
    """Read every column of every clique once, with the cheapest vectorised operation there is."""
    out = np.empty(table.n_rows, dtype=max(c.dtype for c in table.codes))
    for first, *others in cliques:
        for other in others:
            np.add(table.column(first), table.column(other), out=out)


def table_pass(table: EncodedTable) -> None:
    for column in table.codes:
        column.max()


def increments(rows: int, histograms: int, cells: int) -> Callable[[], None]:
    """Return work that adds one to a random cell for every row and histogram."""
    positions = np.random.default_rng(0).integers(0, cells, min(rows, CHUNK_ROWS))
    counts = np.zeros(cells, dtype=np.int64)

    def count() -> None:
        for _ in range(histograms * rows // max(positions.size, 1)):
            np.add.at(counts, positions, 1)

    return count


def sum_pass(table: EncodedTable, cliques: list[Clique]) -> None:
    for clique in cliques:
        for column in clique:
            table.column(column).sum()


def one_by_one(table: EncodedTable, cliques: list[Clique]) -> list[np.ndarray]:
    """Count each clique separately with numpy's bincount, all rows at once."""
    counted = []
    for clique in cliques:
        shape = table.domain.shape(clique)
        cells = np.ravel_multi_index([table.column(c) for c in clique], shape)
        counted.append(np.bincount(cells, minlength=table.domain.cells(clique)).reshape(shape))
    return counted


def filled(shape: tuple[int, ...], codes: list[np.ndarray], counts: np.ndarray) -> np.ndarray:
    """Return the dense table of counts from a group-by's non-empty groups."""
    dense = np.zeros(shape, dtype=np.int64)
    dense[tuple(np.asarray(c, dtype=np.intp) for c in codes)] = counts
    return dense


def by_duckdb(table: EncodedTable, cliques: list[Clique]) -> Callable[[], list[np.ndarray]] | None:
    try:
        import duckdb
        import pandas  # noqa: F401  (DuckDB reads a mapping of arrays through a frame)
    except ImportError:
        return None
    connection = duckdb.connect()
    connection.register("source", {c: table.column(c) for c in table.domain})
    connection.execute("create table coded as select * from source")

    def count() -> list[np.ndarray]:
        counted = []
        for clique in cliques:
            names = ", ".join(f'"{c}"' for c in clique)
            groups = connection.execute(
                f"select {names}, count(*) as records from coded group by {names}"
            ).fetchnumpy()
            shape = table.domain.shape(clique)
            counted.append(filled(shape, [groups[c] for c in clique], groups["records"]))
        return counted

    return count


def by_polars(table: EncodedTable, cliques: list[Clique]) -> Callable[[], list[np.ndarray]] | None:
    try:
        import polars
    except ImportError:
        return None
    frame = polars.DataFrame({c: table.column(c) for c in table.domain})

    def count() -> list[np.ndarray]:
        counted = []
        for clique in cliques:
            groups = frame.group_by(clique).len(name="records")
            codes = [groups[c].to_numpy() for c in clique]
            counted.append(filled(table.domain.shape(clique), codes, groups["records"].to_numpy()))
        return counted

    return count


def peak_mb(work: Callable[[], Any]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--codes", type=int, default=10)
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--table", type=Path, help="a Parquet file of codes, instead of random ones")
    parser.add_argument(
        "--domain", type=Path, help="JSON with the number of codes of each column of the file"
    )
    options = parser.parse_args()
    if options.table:
        if not options.domain:
            parser.error("--table needs --domain")
        table = stored_table(options.table, options.domain)
    else:
        table = random_table(options.rows, options.columns, options.codes)
    cliques = list(combinations(table.domain.columns, options.ways))
    engine = MemoryEngine(table)
    ours = engine.counts(cliques)
    blocks = cover(table.domain, cliques, n_rows=table.n_rows, block_cells=BLOCK_CELLS)

    read = sum(table.column(c).nbytes for q in cliques for c in q)
    print(
        f"{table.n_rows:,} rows, {len(table.domain)} columns, {len(cliques)} cliques of {options.ways} columns"
    )
    held = sum(c.nbytes for c in table.codes)
    print(
        f"bytes of the table {held / 2**20:,.0f} MB, of all cliques' columns {read / 2**20:,.0f} MB; "
        f"histograms counted: {len(blocks)}"
    )
    wall, cpu = best_seconds(lambda: engine.counts(cliques), options.repeats)
    memory, stated = peak_mb(lambda: engine.counts(cliques)), engine.memory_mb(cliques)
    print(
        f"{'syntabula':<22} {wall * 1e3:9.2f} ms   processor {cpu * 1e3:.2f} ms; peak {memory:.2f} MB, "
        f"stated {stated:.2f} MB"
    )
    uncached = np.ones(read, dtype=np.uint8)
    widest = max(table.domain.cells(block) for block, _ in blocks)
    passes: dict[str, Callable[[], Any]] = {
        "pass: table": lambda: table_pass(table),
        "pass: pairs, cached": lambda: add_pass(table, cliques),
        "pass: pairs, memory": lambda: uncached.max(),
        "pass: pairs, sum": lambda: sum_pass(table, cliques),
        "increments": increments(table.n_rows, len(blocks), widest),
    }
    for name, work in passes.items():
        its_wall, its_cpu = best_seconds(work, options.repeats)
        print(
            f"{name:<22} {its_wall * 1e3:9.2f} ms   processor {its_cpu * 1e3:.2f} ms; we take {cpu / its_cpu:.2f} "
            "times its processor time"
        )
    peers: dict[str, Callable[[], list[np.ndarray]] | None] = {
        "numpy, one by one": lambda: one_by_one(table, cliques),
        "DuckDB, group by": by_duckdb(table, cliques),
        "polars, group by": by_polars(table, cliques),
    }
    for name, work in peers.items():
        if work is None:
            print(f"{name:<22} not installed")
            continue
        if not all((a == b).all() for a, b in zip(ours, work(), strict=True)):
            print(f"{name} counts differ from ours", file=sys.stderr)
            return 1
        its_wall, its_cpu = best_seconds(work, max(1, options.repeats // 3))
        print(
            f"{name:<22} {its_wall * 1e3:9.2f} ms   processor {its_cpu * 1e3:.2f} ms; {its_cpu / cpu:.1f} times "
            "our processor time"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
