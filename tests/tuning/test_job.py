"""Which rows a search learns, which it scores against, and what the seconds of a trial are."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, DataError, SchemaError
from syntabula.tuning.import_seconds import ImportSeconds
from syntabula.tuning.job import begin, check_target, repeat, tables_of
from syntabula.tuning.objective import Objective

SCHEMA = st.Schema({"who": st.Identifier(), "x": st.Numeric(0.0, 1.0)}, unit="who", rows_per_unit=5)


def test_validation_rows_are_those_of_other_persons():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": [f"p{i}" for i in rng.integers(0, 30, 200)], "x": rng.random(200)})

    tables = tables_of(frame, None, SCHEMA, None, 0)
    learned, unseen = (set(table.columns["who"].values) for table in (tables.train, tables.validation))

    assert not learned & unseen
    assert learned | unseen == set(frame["who"])
    assert abs(tables.validation.n_rows - 40) < 10


class TestBadTables:
    def test_validation_rows_that_no_score_could_use_are_refused_before_a_fit(self) -> None:
        frame = pd.DataFrame({"who": [f"p{i}" for i in range(20)], "x": np.arange(20.0)})

        with pytest.raises(DataError, match="the validation table has no rows"):
            tables_of(frame, frame[:0], None, None, 0)
        with pytest.raises(SchemaError, match="the validation table lacks column 'x' and has column 'y'"):
            tables_of(frame, frame.rename(columns={"x": "y"}), None, None, 0)

    def test_a_target_of_one_value_is_refused_where_a_metric_predicts_it(self) -> None:
        gaps: list[str | None] = ["yes", None] * 10
        for cells in (["yes"] * 20, gaps, [None] * 20, [3] * 20, [0.5] * 20):
            frame = pd.DataFrame({"bought": cells, "x": np.arange(20.0)})
            tables = tables_of(frame, None, None, "bought", 0)

            with pytest.raises(ArgumentError, match="target 'bought' has a single value"):
                check_target(tables, Objective())
            check_target(tables, Objective(weights={"tvd-2": 1.0}, metrics={}))
            check_target(tables_of(frame, None, None, "x", 0), Objective())
            check_target(tables_of(frame, None, None, None, 0), Objective())


class _Importing:
    """A job whose trial takes 5 seconds, and whose first one imports modules for 1,107 seconds more."""

    def repeat(self, values: Any, number: int, place: int) -> dict[str, float]:
        time.advance(5)  # type: ignore[attr-defined]
        import imported_outer  # type: ignore[import-not-found]

        assert imported_outer.VALUE == 3
        return {"tvd-2": 0.5}


@pytest.fixture
def imported_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules whose import advances the clock, which otherwise stands."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "advance", lambda seconds: now.__setitem__(0, now[0] + seconds), raising=False)
    (tmp_path / "imported_outer.py").write_text(
        "import time\ntime.advance(100)\nimport imported_inner\ntime.advance(7)\nVALUE = imported_inner.VALUE\n"
    )
    (tmp_path / "imported_inner.py").write_text("import time\ntime.advance(1000)\nVALUE = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("imported_outer", "imported_inner"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("imported_modules")
class TestSeconds:
    def test_those_of_a_trial_leave_out_its_imports(self) -> None:
        finders = [*sys.meta_path]
        begin(_Importing())  # type: ignore[arg-type]

        first, second = repeat({}, -1, 0), repeat({}, 0, 0)

        assert (first[2], second[2]) == (5.0, 5.0)
        assert sys.meta_path == finders
        assert type(sys.modules["imported_outer"].__loader__) is SourceFileLoader
        assert not {"exec_module", "create_module"} & {*vars(sys.modules["imported_outer"].__loader__)}

    def test_an_import_that_fails_is_timed_too_and_raises_what_it_raised(self, tmp_path: Path) -> None:
        (tmp_path / "imported_outer.py").write_text("import time\ntime.advance(9)\nraise LookupError('x')\n")
        started = time.perf_counter()

        with ImportSeconds() as imports, pytest.raises(LookupError):
            import imported_outer  # noqa: F401

        assert imports.seconds == time.perf_counter() - started == 9

    def test_what_another_thread_imports_is_not_counted(self) -> None:
        with ImportSeconds() as imports:
            thread = threading.Thread(target=__import__, args=("imported_outer",))
            thread.start()
            thread.join()

        assert sys.modules["imported_outer"].VALUE == 3
        assert imports.seconds == 0
