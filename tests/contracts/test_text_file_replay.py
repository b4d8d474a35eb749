"""Record and replay for a text file without a schema, or with some columns declared.

No cell decides what kind of values a column holds, or how another cell is read.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recording import RecordingNoise
from test_preprocessing_replay import LOOSE, ReplayingLabels, Run, check

import syntabula as st
from syntabula.prepare import found_types
from syntabula.privacy.noise import SeededNoise

HEADER = "age,pay,job,day,flag,code"
STRANGE = [
    "forty,12.5,cook,2020-01-03,true,1234567890123456789",
    "41,much,7,2020-01-03 10:00,maybe,007",
    "41.5,,cook,someday,1,",
    ",,,,,",
]


def lines(seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        f"{rng.integers(18, 90)},{rng.normal(20, 5):.2f},{rng.choice(['cook', 'judge'])},"
        f"2020-02-{rng.integers(1, 28):02d},{rng.choice(['true', 'false'])},{rng.integers(0, 99)}"
        for _ in range(120)
    ]


def write(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


PARTIAL = st.Schema(
    {
        "job": st.Categorical(("cook", "judge"), open=True),
        "pay": st.Numeric(0, 40, integer=True, nullable=True),
    },
    others="find",
)


def compare(folder: Path, discretizer: str = "privtree", schema: st.Schema | None = None) -> Run:
    rows = [*lines(0), *STRANGE]
    options = {"preprocessing": st.Preprocessing(discretizer=discretizer), "bins": 8, "budget": LOOSE}
    path = folder / "t.csv"
    first = Run(write(path, rows), schema, RecordingNoise(SeededNoise(0)), folder, **options)
    calls = [call for spent in first.spends for call in spent.calls]
    for gone in (0, *range(len(rows) - len(STRANGE), len(rows))):
        replay = ReplayingLabels(SeededNoise(0), script=calls)
        check(first, Run(write(path, rows[:gone] + rows[gone + 1 :]), schema, replay, folder, **options))
    return first


@pytest.mark.thorough
@pytest.mark.parametrize("discretizer", ["privtree", "uniform"])
def test_one_record_changes_nothing_but_the_inputs_of_the_noise(discretizer: str, tmp_path: Path) -> None:
    run = compare(tmp_path, discretizer)

    types = [f"find the type of {name!r}" for name in HEADER.split(",")]
    steps = [s.step for s in run.spends if s.step != "count the records"]
    assert steps[:6] == types
    assert run.released is not None
    assert "the types of columns" not in run.released[1]


@pytest.mark.thorough
def test_so_it_is_where_some_columns_are_declared(tmp_path: Path) -> None:
    run = compare(tmp_path, schema=PARTIAL)

    assert {s.step for s in run.spends if "type" in s.step} == {
        f"find the type of {name!r}" for name in ("age", "day", "flag", "code")
    }
    assert run.released is not None


def texts_of(rows: list[str]) -> pd.DataFrame:
    """Return a frame of texts, as pandas reads days, times and whatever stands between them."""
    cells = [row.split(",") for row in rows]
    return pd.DataFrame(cells, columns=HEADER.split(","), dtype=object)[["job", "day", "code"]]


@pytest.mark.thorough
def test_so_it_is_for_days_and_times_among_the_texts_of_a_frame(tmp_path: Path) -> None:
    rows = [*lines(0), *STRANGE]
    options = {"bins": 8, "budget": LOOSE}
    first = Run(texts_of(rows), None, RecordingNoise(SeededNoise(0)), tmp_path, **options)
    calls = [call for spent in first.spends for call in spent.calls]

    for gone in (0, *range(len(rows) - len(STRANGE), len(rows))):
        replay = ReplayingLabels(SeededNoise(0), script=calls)
        check(first, Run(texts_of(rows[:gone] + rows[gone + 1 :]), None, replay, tmp_path, **options))

    assert [s.step for s in first.spends if "type" in s.step] == [
        f"find the type of {name!r}" for name in ("job", "day", "code")
    ]
    # Only a column of days has values in an order, so that some may be frequent.
    assert "find the frequent values of 'day'" in {s.step for s in first.spends}
    assert first.released is not None


@pytest.mark.thorough
def test_a_type_read_off_the_cells_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = found_types.released_kinds

    def observed(name: str, kinds: np.ndarray, **options: object) -> found_types.NoisyKinds:
        released = right(name, kinds, **options)
        if (kinds != len(found_types.CELL_KINDS) - 1).all():
            return released
        return replace(released, counts=dict(released.counts) | {"text": math.inf})

    monkeypatch.setattr("syntabula.prepare.found_types.released_kinds", observed)

    with pytest.raises(AssertionError):
        compare(tmp_path)
