"""Public tables written in the forms of several countries come out in the same form, with and without a schema."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corners import thorough_but

import syntabula as st

N = 5_000


pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("SYNTABULA_DATA"), reason="set SYNTABULA_DATA to the folder of the real tables"
    ),
]


@dataclass(frozen=True)
class Country:
    """How a country writes tables.

    Attributes:
        separator: Character between cells.
        quoting: Which cells are in quotes, as the csv module says.
        money: Writes an amount.
        day: Format of days.
        moment: Format of times.
        clock: Format of clock times.
        flags: Texts of false and true.
        shapes: What cells of each column look like.
    """

    separator: str
    quoting: int
    money: Callable[[float], str]
    day: str
    moment: str
    clock: str
    flags: tuple[str, str]
    shapes: dict[str, str] = field(hash=False)


def german(amount: float) -> str:
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))


COUNTRIES = {
    "Germany": Country(
        ";", csv.QUOTE_MINIMAL, german, "%d.%m.%Y", "%d.%m.%Y %H:%M:%S", "%H:%M", ("false", "true"),
        {
            "money": r"-?\d{1,3}(\.\d{3})*,\d\d",
            "day": r"[0-3]\d\.[01]\d\.\d{4}",
            "moment": r"[0-3]\d\.[01]\d\.\d{4} [0-2]\d:[0-5]\d:[0-5]\d",
            "clock": r"[0-2]\d:[0-5]\d",
            "flag": "false|true",
        },
    ),
    "USA": Country(
        ",", csv.QUOTE_ALL, lambda x: f"{x:,.2f}", "%m/%d/%Y", "%m/%d/%Y %I:%M:%S %p", "%H:%M:%S",
        ("False", "True"),
        {
            "money": r"-?\d{1,3}(,\d{3})*\.\d\d",
            "day": r"[01]\d/[0-3]\d/\d{4}",
            "moment": r"[01]\d/[0-3]\d/\d{4} [01]\d:[0-5]\d:[0-5]\d [AP]M",
            "clock": r"[0-2]\d:[0-5]\d:[0-5]\d",
            "flag": "False|True",
        },
    ),
    "export": Country(
        "|", csv.QUOTE_MINIMAL, lambda x: f"{x:.2f}", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%H:%M", ("FALSE", "TRUE"),
        {
            "money": r"-?\d+\.\d\d",
            "day": r"\d{4}-[01]\d-[0-3]\d",
            "moment": r"\d{4}-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d",
            "clock": r"[0-2]\d:[0-5]\d",
            "flag": "FALSE|TRUE",
        },
    ),
}  # fmt: skip


def written(country: Country, folder: Path) -> Path:
    """Write part of the bank table, with times drawn for its calls."""
    bank = pd.read_parquet(Path(os.environ["SYNTABULA_DATA"]) / "bank.parquet").head(N)
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2008-05-01") + pd.to_timedelta(rng.integers(0, 900 * 86_400, len(bank)), unit="s")
    frame = pd.DataFrame(
        {
            "customerID": [f"{i:04d}-{''.join(rng.choice([*'ABCDEFGH'], 5))}" for i in range(len(bank))],
            "money": [country.money(x + 0.5) for x in bank["balance"].to_numpy()],
            "day": start.strftime(country.day),
            "moment": start.strftime(country.moment),
            "clock": start.strftime(country.clock),
            "flag": [country.flags[answer == "yes"] for answer in bank["housing"]],
            "job": bank["job"].to_numpy(),
        }
    )
    frame.to_csv(folder / "in.csv", sep=country.separator, quoting=country.quoting, index=False)
    return folder / "in.csv"


def check_like(country: Country, made: Path, original: Path) -> None:
    first, *lines = made.read_text().splitlines()
    assert first == original.read_text().splitlines()[0]
    assert all(line.startswith('"') == (country.quoting == csv.QUOTE_ALL) for line in lines)
    cells = pd.read_csv(made, sep=country.separator, dtype=str, keep_default_na=False)
    for name, shape in country.shapes.items():
        # A few cells may be missing.
        present = cells[name][cells[name] != ""]
        assert present.size > 0.9 * len(cells)
        assert present.map(re.compile(shape).fullmatch).notna().all(), name


@pytest.mark.parametrize("name", thorough_but(["Germany"], COUNTRIES))
@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_a_file_comes_out_as_it_went_in(name: str, tmp_path: Path) -> None:
    country = COUNTRIES[name]
    original = written(country, tmp_path)
    schema, _ = st.draft_schema(original)

    found = st.Independent(epsilon=3.0, seed=0).fit(original)
    declared = st.Independent(epsilon=3.0, seed=0, allow_observed=True).fit(original, schema, strict=True)

    for release in (found, declared):
        release.sample_to(tmp_path / "out.csv", 2000, seed=1)
        check_like(country, tmp_path / "out.csv", original)
    keys = pd.read_csv(tmp_path / "out.csv", sep=country.separator)["customerID"]
    assert keys.is_unique


@pytest.mark.parametrize("name", thorough_but(["USA"], COUNTRIES))
@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
@pytest.mark.thorough
def test_the_schema_of_a_file_fits_the_frame_that_pandas_makes_of_it(name: str, tmp_path: Path) -> None:
    country = COUNTRIES[name]
    original = written(country, tmp_path)
    schema, _ = st.draft_schema(original)
    frame = pd.read_csv(original, sep=country.separator)

    release = st.Independent(epsilon=3.0, seed=0, allow_observed=True).fit(frame, schema, strict=True)
    made = release.sample(200, seed=1)

    assert made["money"].dtype == np.float64
    assert made["day"].dtype.kind == "M"
    assert made["moment"].dtype.kind == "M"
    assert made["flag"].dtype == np.bool_


def test_texts_and_names_are_in_quotes_but_no_numbers_days_and_flags(tmp_path):
    # As R and many others write.
    lines = [
        '"n","t","d","f"',
        *(f'{i % 7},"a ""{i % 3}""",2020-01-{i % 28 + 1:02},TRUE' for i in range(300)),
    ]
    (tmp_path / "in.csv").write_text("\n".join(lines))

    release = st.MST(epsilon=np.inf, seed=1).fit(tmp_path / "in.csv")
    release.sample_to(tmp_path / "out.csv", 200, seed=1)

    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header == lines[0]
    assert len(rows) == 200
    assert all(re.fullmatch(r'[0-6],"a ""[0-2]""",2020-01-[0-9]{2},TRUE', row) for row in rows)
