"""Texts that are all numbers with a sign: learned as numbers, or pointed out as such."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DomainWarning
from syntabula.prepare.written_keys import are_written
from syntabula.table.draft import draft_schema

AMOUNTS = np.round(np.random.default_rng(0).lognormal(6, 1, 2_000), 2)


def euros(values: np.ndarray) -> list[str]:
    swapped = {",": ".", ".": ","}
    return ["".join(swapped.get(c, c) for c in f"{value:,.2f}") + " €" for value in values]


def amounts_of(texts: pd.Series) -> np.ndarray:
    assert texts.str.fullmatch(r"[1-9]?[0-9]{0,2}(\.[0-9]{3})*,[0-9]{2} €|0,[0-9]{2} €").all()
    return texts.str.replace("[. €]", "", regex=True).str.replace(",", ".").astype(float).to_numpy()


@pytest.mark.parametrize("stored", ["csv", "parquet"])
def test_without_privacy_they_are_learned(tmp_path: Path, stored: str) -> None:
    frame = pd.DataFrame({"paid": euros(AMOUNTS), "kind": ["a", "b"] * 1_000})
    path = tmp_path / f"t.{stored}"
    frame.to_csv(path, sep=";", index=False) if stored == "csv" else frame.to_parquet(path)

    release = st.Independent(epsilon=math.inf, seed=0).fit(path)

    assert isinstance(release.schema["paid"], st.Numeric)
    release.sample_to(tmp_path / "s.csv", seed=0)
    drawn = amounts_of(pd.read_csv(tmp_path / "s.csv", sep=None, engine="python")["paid"])
    assert np.median(drawn) == pytest.approx(np.median(AMOUNTS), rel=0.1)
    assert AMOUNTS.min() <= drawn.min()
    assert drawn.max() <= AMOUNTS.max()


@pytest.mark.parametrize("epsilon", [5.0, math.inf])
@pytest.mark.filterwarnings("ignore:column 'reached'")
def test_in_a_folder_they_are_learned_as_in_one_file(tmp_path: Path, epsilon: float) -> None:
    sizes = [f"{1_000 + 13 * i:,}".replace(",", " ") for i in range(2_000)]
    phones = [f"{600_000_000 + 7_919 * i:,}".replace(",", " "[: i % 2]) for i in range(2_000)]
    frame = pd.DataFrame(
        {"paid": euros(AMOUNTS), "size": sizes, "reached": phones, "kind": ["a", "b"] * 1_000}
    )
    (tmp_path / "parts").mkdir()
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    for i, part in enumerate((frame[:900], frame[900:])):
        part.to_csv(tmp_path / "parts" / f"{i}.csv", sep=";", index=False)

    for source in ("t.csv", "parts"):
        # Seeded; noise hides one of the kinds with a probability below 1e-6.
        schema = st.Independent(epsilon=epsilon, seed=0).fit(tmp_path / source).schema

        paid, size = schema["paid"], schema["size"]
        assert isinstance(paid, st.Numeric)
        assert isinstance(size, st.Numeric)
        assert (paid.format, size.format) == ("1.234,50 €", "1 234")
        assert isinstance(schema["reached"], st.Identifier)


WHOLE = np.arange(1, 2_001) * 7


@pytest.mark.parametrize(
    ("stored", "form", "texts", "largest"),
    [
        # Beside semicolons a point is no decimal point, as in numbers without a sign.
        (";", "1.234 €", [f"{value:.3f} €" for value in WHOLE / 1_000 + 1], 15_000),
        # Decimals that are left out at times have fewer than three at other times.
        (",", "1.234 €", [f"{value:,} €".replace(",", ".") for value in WHOLE], 14_000),
        ("parquet", "1.234 €", [f"{-value:,} €".replace(",", ".") for value in WHOLE], -7),
        # Spaces are between groups, whatever is between cells.
        (";", "1 234", [f"{value:,}".replace(",", " ") for value in WHOLE], 14_000),
        (";", "1\u202f234\u00a0€", [f"{value:,}\u00a0€".replace(",", "\u202f") for value in WHOLE], 14_000),
        ("parquet", "1234.0 €", [f"{value / 1_000 + 1} €" for value in WHOLE], 15.0),
        ("parquet", "1234.500 €", [f"{value:.3f} €" for value in WHOLE / 1_000 + 1], 15.0),
    ],
)
def test_a_point_between_groups_of_digits_is_no_decimal_point(
    tmp_path: Path, stored: str, form: str, texts: list[str], largest: float
) -> None:
    frame, path = pd.DataFrame({"paid": texts, "kind": ["a", "b"] * 1_000}), tmp_path / "t"
    if stored == "parquet":
        path = path.with_suffix(".parquet")
        frame.to_parquet(path)
    else:
        path = path.with_suffix(".csv")
        frame.to_csv(path, sep=stored, index=False)

    column = draft_schema(path)[0]["paid"]

    assert isinstance(column, st.Numeric)
    assert (column.format, column.upper) == (form, largest)


@pytest.mark.parametrize("stored", ["csv", "pandas"])
def test_with_privacy_the_kinds_of_cells_tell_them(tmp_path: Path, stored: str) -> None:
    frame = pd.DataFrame({"paid": euros(AMOUNTS), "part": [f"{i % 97} %" for i in range(2_000)]})
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)

    # Seeded; noise hides one of the kinds with a probability below 1e-6.
    release = st.Independent(epsilon=10.0, seed=0).fit(frame if stored == "pandas" else tmp_path / "t.csv")

    paid, part = release.schema["paid"], release.schema["part"]
    assert isinstance(paid, st.Numeric)
    assert isinstance(part, st.Numeric)
    assert (paid.format, part.format, part.integer) == ("1.234,50 €", "1234 %", True)
    release.sample_to(tmp_path / "s.csv", seed=0)
    drawn = pd.read_csv(tmp_path / "s.csv", sep=None, engine="python")
    # The noisy bins of 2,000 records leave the median within a quarter.
    assert np.median(amounts_of(drawn["paid"])) == pytest.approx(np.median(AMOUNTS), rel=0.25)
    assert drawn["part"].str.fullmatch("-?[0-9]{1,3} %").all()


@pytest.mark.parametrize(
    ("stored", "epsilon"), [("pandas", 10.0), ("jsonl", math.inf), ("parquet", math.inf)]
)
@pytest.mark.filterwarnings("ignore:column 'code'")
def test_so_are_those_without_a_sign_that_no_library_reads(
    tmp_path: Path, stored: str, epsilon: float
) -> None:
    bare = [text.removesuffix(" €") for text in euros(AMOUNTS)]
    frame = pd.DataFrame({"paid": bare, "code": [f"{i % 97}.{i % 7}" for i in range(2_000)]})
    path = tmp_path / f"t.{stored}"
    if stored == "parquet":
        frame.to_parquet(path)
    elif stored == "jsonl":
        frame.to_json(path, orient="records", lines=True)

    # Seeded; noise hides one of the kinds with a probability below 1e-6.
    release = st.Independent(epsilon=epsilon, seed=0).fit(frame if stored == "pandas" else path)

    paid = release.schema["paid"]
    assert isinstance(paid, st.Numeric)
    assert paid.format == "1.234,50"
    assert not isinstance(release.schema["code"], st.Numeric)
    assert release.sample(50, seed=0)["paid"].str.fullmatch(r"[0-9.]+,[0-9]{2}").all()


def test_with_privacy_a_warning_says_how_to_declare_others() -> None:
    days = pd.date_range("2023-01-01", periods=2_000).strftime("%d-%m-%y")
    paid = [text.replace("€", "€$"[i % 2]) for i, text in enumerate(euros(AMOUNTS))]
    frame = pd.DataFrame({"paid": paid, "day": days, "kind": ["a", "b"] * 1_000})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DomainWarning)
        st.Independent(epsilon=5.0, seed=0).fit(frame)

    (message,) = [str(w.message) for w in caught if w.category is DomainWarning]
    assert message.startswith("2 columns ('paid', 'day')")
    assert "declare the column numeric or a date" in message


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"\d{3},\d{2} \€|\d\.\d{3},\d{2} \€", True),
        (r"\$\d,\d{3}", True),
        (r"\d{2}\.\d{2}\.\d{2}", True),
        (r"\d/\d{2}/\d{4}", True),
        (r"\d{2}-[A-Z]{3}-\d{2}", True),
        (r"\d{3}-\d{2}-\d{4}", False),
        (r"\d{3} \d{4}", False),
        (r"\d{9}", False),
        (r"\d{2} bpm|\d{3} bpm", True),
        (r"\d{2} [A-Z]{2}", False),
        (r"[A-Za-z]{2}\. \d{3}\.\d{2}|[A-Za-z]{2}\. \d,\d{3}\.\d{2}", True),
        (r"R\$ \d{2},\d{2}", True),
        (r"J\d{2}\.\d{2}", False),
        (r"\d,\d{2},\d{3}|\d{2},\d{2},\d{3}", True),
        (r"INV-\d{7}", False),
        (r"AB \d{3}", False),
        (None, False),
    ],
)
def test_the_form_of_keys_shows_numbers_and_days(pattern: str | None, written: bool) -> None:
    assert are_written(st.Identifier(pattern=pattern)) == written
