"""Days and times that a pandas frame holds as texts are learned as such, and come out as texts in their form."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import syntabula as st
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.table.files.cell_kinds import CELL_KINDS
from syntabula.table.frames.text_times import TextTimes
from syntabula.table.raw import PhysicalType
from syntabula.table.read import read

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
N = 3_000
RNG = np.random.default_rng(5)
DAYS = pd.Series(np.datetime64("2021-03-01") + RNG.integers(0, 600, N).astype("timedelta64[D]"))
TIMES = pd.Series(np.datetime64("2021-03-01T00:00:00") + RNG.integers(0, 10**7, N).astype("timedelta64[s]"))
ZONED = TIMES.map(lambda time: f"{time.isoformat()}+00:00")
FORMS = {
    "%Y-%m-%d": DAYS,
    "%d/%m/%Y": DAYS,
    "%m/%d/%Y": DAYS,
    "%d.%m.%Y": DAYS,
    "%d.%m.%y": DAYS,
    "%m/%d/%y": DAYS,
    "%H:%M": TIMES,
    "%H:%M:%S": TIMES,
    "%Y-%m-%d %H:%M:%S": TIMES,
    "%Y-%m-%dT%H:%M:%S": TIMES,
    "%d/%m/%Y %H:%M": TIMES,
}


def drawn(frame: pd.DataFrame, epsilon: float = 1.0) -> tuple[st.Release, pd.DataFrame]:
    release = st.Independent(epsilon=epsilon, delta=1e-5, seed=0).fit(frame)
    return release, release.sample(N, seed=1)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("form", "dtype"), [*((form, "str") for form in FORMS), ("%d/%m/%Y", object), ("%H:%M", object)]
)
def test_all_that_is_drawn_has_the_form_of_the_original(form: str, dtype: object) -> None:
    texts = FORMS[form].dt.strftime(form)
    frame = pd.DataFrame({"when": texts.astype(dtype), "n": RNG.integers(0, 9, N)})

    release, rows = drawn(frame)

    known = pd.to_datetime(texts, format=form)
    made = pd.to_datetime(rows["when"], format=form)  # raises if one text has another form
    assert rows["when"].dtype == frame["when"].dtype
    assert release.schema["when"].provenance == "private"
    spread = known.quantile(0.9) - known.quantile(0.1)
    for part in (0.1, 0.5, 0.9):
        assert abs(made.quantile(part) - known.quantile(part)) < 0.1 * spread


def test_months_quarters_and_weeks_are_learned_as_such() -> None:
    frame = pd.DataFrame(
        {
            "month": DAYS.dt.strftime("%Y-%m"),
            "quarter": [f"{day.year}-Q{day.quarter}" for day in DAYS],
            "short": [f"{day.year}Q{day.quarter}" for day in DAYS],
            "week": DAYS.dt.strftime("%G-W%V"),
        }
    )
    # The table has 20 months; bounds are found to a power of two from 1970.
    most = {"month": 100, "quarter": 100, "short": 100, "week": 400}

    release, rows = drawn(frame, epsilon=5.0)

    for name, resolution in zip(frame, ("month", "quarter", "quarter", "week"), strict=True):
        column = release.schema[name]
        assert (column.kind, column.resolution) == ("date", resolution)
        first, last = column.grid()
        assert last - first <= most[name]
        assert len({*rows[name]} & {*frame[name]}) >= 0.7 * frame[name].nunique()
        assert {len(text) for text in rows[name]} == {len(frame[name][0])}
    for name, given, allowed in (
        ("quarter", "2021-Q2", {"2021-Q2"}),
        ("month", ("2021-04", "2021-06"), {"2021-04", "2021-05", "2021-06"}),
        ("week", "2021-W20", {"2021-W20"}),
    ):
        assert {*release.sample(40, seed=2, where={name: given})[name]} <= allowed


def test_texts_numbers_flags_and_keys_stay_texts() -> None:
    frame = pd.DataFrame(
        {
            "name": RNG.choice(["ann", "bob"], N),
            "code": RNG.choice(["01", "02", "11"], N),
            "flag": RNG.choice(["True", "False"], N),
            "year": RNG.choice(["2020", "2021"], N),
            "season": RNG.choice(["2003-04", "2004-05"], N),
        }
    )

    release, rows = drawn(frame)

    assert {name: column.kind for name, column in release.schema.columns.items()} == dict.fromkeys(
        frame, "categorical"
    )
    for name in frame:
        assert set(frame[name]) <= set(rows[name]) <= {*frame[name], "other", *known_beside(name)}


def known_beside(name: str) -> set[str]:
    """Codes from 1 to the largest are known to go with those that are found."""
    return {f"{i:02d}" for i in range(1, 12)} if name == "code" else set()


def test_a_date_that_few_cells_hold_does_not_make_a_column_of_dates() -> None:
    texts = np.where(np.arange(N) < 40, "2020-05-05", RNG.choice(["never", "once"], N))

    release, _ = drawn(pd.DataFrame({"seen": texts, "n": RNG.integers(0, 9, N)}))

    assert release.schema["seen"].kind == "categorical"


def test_times_with_an_offset_are_written_with_a_t_as_they_were() -> None:
    _, rows = drawn(pd.DataFrame({"when": ZONED}), float("inf"))

    assert rows["when"].str.fullmatch(r"2021-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00").all()


def test_an_observed_domain_is_of_times_and_they_come_out_as_texts() -> None:
    frame = pd.DataFrame({"when": ZONED, "day": DAYS.dt.strftime("%d.%m.%Y")})

    release = st.Independent(epsilon=float("inf"), allow_observed=True, seed=0).fit(frame)

    rows = release.sample(50, seed=1)
    assert [release.schema[name].kind for name in frame] == ["datetime", "date"]
    assert rows["when"].between(ZONED.min(), ZONED.max()).all()
    assert pd.to_datetime(rows["day"], format="%d.%m.%Y").between(DAYS.min(), DAYS.max()).all()


@pytest.mark.thorough
def test_missing_and_empty_cells_stay_missing() -> None:
    texts = DAYS.dt.strftime("%Y-%m-%d").to_numpy(dtype=object)
    texts[:900], texts[900:1200] = None, ""

    _, rows = drawn(pd.DataFrame({"when": texts, "n": RNG.integers(0, 9, N)}))

    # Standard deviation below 1 %; noise adds less.
    assert rows["when"].isna().mean() == pytest.approx(0.4, abs=0.06)


@pytest.mark.thorough
def test_a_saved_release_draws_the_same_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"when": DAYS.dt.strftime("%d/%m/%Y"), "at": TIMES.dt.strftime("%Y-%m-%d %H:%M:%S")})
    release, rows = drawn(frame)

    release.save(tmp_path / "r.syn")

    pd.testing.assert_frame_equal(st.load(tmp_path / "r.syn").sample(N, seed=1), rows)


def test_the_plan_and_the_statement_name_the_cost() -> None:
    frame = pd.DataFrame({"when": DAYS.dt.strftime("%Y-%m-%d"), "n": RNG.integers(0, 9, N)})
    method = st.Independent(epsilon=5.0, seed=0)

    release = method.fit(frame)

    planned = {s.name: s.share for s in method.plan(None, physical=release.origin.physical).steps}
    spent = {line.step: line.share for line in release.privacy.lines}
    assert spent["find the type of 'when'"] <= planned["find the type of 'when'"] * (1 + 1e-9)
    assert "find the type of 'n'" not in {*planned, *spent}
    assert sum(spent.values()) == pytest.approx(1.0)


@pytest.mark.thorough
def test_a_file_of_the_same_cells_has_the_same_days(tmp_path: Path) -> None:
    frame = pd.DataFrame({"when": DAYS.dt.strftime("%d.%m.%Y"), "n": RNG.integers(0, 9, N)})
    frame.to_csv(tmp_path / "t.csv", index=False)

    of_frame = st.Independent(epsilon=float("inf")).fit(frame)
    of_file = st.Independent(epsilon=float("inf")).fit(tmp_path / "t.csv")

    assert of_frame.schema["when"] == of_file.schema["when"]


class TestTextTimes:
    def texts(self, cells: list[object]) -> TextTimes:
        return TextTimes(read(pd.DataFrame({"t": pd.Series(cells, dtype=object)})), ["t"])

    def kinds(self, points: CountedPoints) -> dict[str, int]:
        return {CELL_KINDS[kind]: int(n) for kind, n in zip(points.values, points.counts, strict=True)}

    def test_each_cell_counts_for_its_kind(self) -> None:
        found = self.texts(["2020-01-01", "2020-01-01", "x", None, "", "10:30"]).cell_kinds("t")

        assert self.kinds(found) == {"day": 2, "clock": 1, "text": 1}

    def test_cells_in_no_form_of_the_type_are_missing(self) -> None:
        table = self.texts(["2020-01-03", "x", None, "2020-01-05"]).typed({"t": PhysicalType("date", "DATE")})

        column = table.columns["t"]
        days: NDArray[np.int64] = column.values[~column.missing]
        assert column.missing.tolist() == [False, True, True, False]
        assert [dt.date(1970, 1, 1) + dt.timedelta(days=int(d)) for d in days] == [
            dt.date(2020, 1, 3),
            dt.date(2020, 1, 5),
        ]

    def test_a_text_that_is_not_unicode_counts_for_no_kind(self) -> None:
        found = self.texts(["2020-01-01", "x\ud800"])

        assert self.kinds(found.cell_kinds("t")) == {"day": 1}
        assert found.typed(found.types()).columns["t"].missing.tolist() == [False, True]

    def test_its_repr_shows_no_cell(self) -> None:
        assert "2020" not in repr(self.texts(["2020-01-03"]))
