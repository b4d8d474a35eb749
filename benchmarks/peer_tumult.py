"""Noisy counts of pairs of columns by Tumult Analytics on Spark, for big_tables.py.

    python3.11 -m venv ../peers/tumult && ../peers/tumult/bin/pip install tmlt.analytics setuptools pyyaml
    ../peers/tumult/bin/python benchmarks/peer_tumult.py PAIRS FOLDER SCHEMA OUT

Spark runs on this machine, with one processor. Numbers are put into 32 even bins by Spark itself, and the frame is
cached, as its documentation advises. Each pair is a query with a share of its own. Tumult makes no rows.
"""

from __future__ import annotations

import os
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

BINS = 32


def main() -> None:
    """Ask for the pairs one after the other; print seconds by stage, of all processes since the start."""
    n_pairs, folder, schema = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, QueryBuilder, RhoZCDPBudget, Session

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", "--add-opens=java.base/java.nio=ALL-UNNAMED")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    columns = yaml.safe_load(Path(schema).read_text())["columns"]
    coded = [_coded(name, facts) for name, facts in columns.items()]
    frame = spark.read.parquet(folder).selectExpr(*[sql for sql, _ in coded]).cache()
    keys = {name: keys for name, (_, keys) in zip(columns, coded, strict=True)}
    session = Session.from_dataframe(
        privacy_budget=RhoZCDPBudget(0.0118),
        source_id="people",
        dataframe=frame,
        protected_change=AddOneRow(),
    )
    stage("start")
    share = RhoZCDPBudget(0.0118 / 190)
    for pair in list(combinations(columns, 2))[:n_pairs]:
        query = QueryBuilder("people").groupby(KeySet.from_dict({c: keys[c] for c in pair})).count()
        session.evaluate(query, share).toPandas()
        if pair == tuple(columns)[:2]:
            stage("first pair")
    stage(f"{n_pairs} pairs")


def _coded(name: str, facts: dict[str, Any]) -> tuple[str, list[Any]]:
    """Return the column in SQL, and its possible values."""
    kind = facts["kind"]
    if kind == "categorical":
        return name, facts["categories"]
    if kind == "boolean":
        return f"cast({name} as int) as {name}", [0, 1]
    if kind == "numeric":
        value, lower, upper = name, facts["lower"], facts["upper"]
    else:
        cast = "to_date" if kind == "date" else "to_timestamp"
        number = "unix_date" if kind == "date" else "unix_seconds"
        value = f"{number}({cast}({name}))"
        lower, upper = (f"{number}({cast}('{facts[end]}'))" for end in ("lower", "upper"))
    cell = f"floor(({value} - {lower}) * {BINS} / ({upper} - {lower}))"
    return f"cast(coalesce(least({BINS - 1}, greatest(0, {cell})), {BINS}) as int) as {name}", [
        *range(BINS + 1)
    ]


def stage(name: str) -> None:
    """Print the end of a stage, in seconds of the wall, as Java's processor seconds are not known here."""
    import time

    print(f"stage {name} {time.monotonic() - STARTED:.0f} s of the wall", flush=True)


if __name__ == "__main__":
    import time

    STARTED = time.monotonic()
    main()
