"""Every warning points to the line of the user that led to it, from whatever depth it comes."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, ConditionWarning, PrivacyWarning, SyntabulaWarning

SCHEMA = st.Schema(
    {
        "age": st.Numeric(0, 99, integer=True, nullable=True),
        "job": st.Categorical(("cook", "nurse"), nullable=True),
    }
)


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"age": rng.integers(0, 50, n), "job": rng.choice(["cook", "nurse"], n).astype(object)}
    )


def fitted(budget: st.Budget | None = None) -> st.Release:
    return st.PrivSyn(budget=budget or st.Budget(5.0, 1e-5), seed=1, bins=8).fit(table(), SCHEMA)


def with_a_stranger() -> pd.DataFrame:
    frame = table()
    frame.loc[3, "job"] = "judge"
    return frame


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_text('{"age": 3, "job": "cook", "more": 1}\n' * 20)
    return path


# What warns: a function of the folder that prepares, and returns, what is called on the line under test.
CALLS: dict[str, tuple[type[SyntabulaWarning], Callable[[Path], Callable[[], object]]]] = {
    "a budget": (PrivacyWarning, lambda folder: functools.partial(st.Budget, 20.0, 1e-5)),
    "a budget in zCDP": (PrivacyWarning, lambda folder: functools.partial(st.Budget.zcdp, 100.0, 1e-5)),
    "a pure budget": (PrivacyWarning, lambda folder: functools.partial(st.Budget.pure, 50)),
    "a constructor that makes a budget": (
        PrivacyWarning,
        lambda folder: functools.partial(st.AIM, epsilon=20.0),
    ),
    "a method found by its key": (
        PrivacyWarning,
        lambda folder: functools.partial(st.synthesizer("mst"), delta=0.1),
    ),
    "fit": (
        CoercionWarning,
        lambda folder: functools.partial(st.MST(seed=1).fit, with_a_stranger(), SCHEMA),
    ),
    "fit of a file": (
        CoercionWarning,
        lambda folder: functools.partial(st.MST(seed=1).fit, written(folder, with_a_stranger()), SCHEMA),
    ),
    "sample where": (
        ConditionWarning,
        lambda folder: functools.partial(fitted().sample, 500, where={"age": 3, "job": "cook"}),
    ),
    "sample to a file": (
        ConditionWarning,
        lambda folder: functools.partial(
            fitted().sample_to, folder / "out.csv", 500, where={"age": 3, "job": "cook"}
        ),
    ),
    "sample of a loaded release": (
        ConditionWarning,
        lambda folder: functools.partial(
            reloaded(folder).sample, given=pd.DataFrame({"age": [98], "job": [None]})
        ),
    ),
    "evaluate": (
        PrivacyWarning,
        lambda folder: functools.partial(st.evaluate, table(), table(50), metrics="tvd-1", workers=1),
    ),
}


def written(folder: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def reloaded(folder: Path) -> st.Release:
    # Without noise no record is where the table has none.
    fitted(st.NO_PRIVACY).save(folder / "x.syn")
    return st.load(folder / "x.syn")


def warned(call: Callable[[], object], kind: type[Warning]) -> set[tuple[str, int]]:
    """Return the places that warnings of a kind point to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return {(w.filename, w.lineno) for w in caught if issubclass(w.category, kind)}


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


class TestPlace:
    @pytest.mark.parametrize("name", list(CALLS))
    def test_is_the_line_of_the_user(self, name, tmp_path):
        kind, prepare = CALLS[name]
        call = prepare(tmp_path)
        lines = []

        def user():
            lines.append(line() + 1)
            call()

        assert warned(user, kind) == {(__file__, lines[0])}

    @pytest.mark.parametrize(
        "name", ["a budget", "a method found by its key", "fit of a file", "sample where"]
    )
    def test_is_that_line_also_where_other_libraries_lie_between(self, name, tmp_path):
        kind, prepare = CALLS[name]
        call = prepare(tmp_path)
        lines = []

        def user():
            lines.append(line() + 1)
            list(map(lambda _: call(), [0]))  # noqa: C417

        def deep():
            with contextlib.ExitStack() as stack:
                stack.callback(user)

        with ThreadPoolExecutor(1) as pool:
            found = warned(lambda: pool.submit(deep).result(), kind)
        assert found == {(__file__, lines[0])}


class TestOthers:
    def test_unknown_keys_of_records_are_told_at_the_line_that_reads(self, jsonl):
        assert warned(lambda: st.MST(seed=1).fit(jsonl, SCHEMA), CoercionWarning) == {(__file__, line())}

    def test_loading_a_release_warns_of_nothing(self, tmp_path):
        with pytest.warns(PrivacyWarning):
            st.MST(epsilon=20.0, seed=1).fit(table(), SCHEMA).save(tmp_path / "x.syn")

        assert warned(lambda: st.load(tmp_path / "x.syn"), Warning) == set()

    def test_a_line_that_is_filtered_stays_silent_and_another_does_not(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", category=PrivacyWarning, module=__name__.replace(".", r"\."))
            st.Budget(20.0, 1e-5)

        assert not caught

    def test_no_other_module_warns_by_itself(self):
        source = Path(st.__file__).parent
        found = [
            str(path.relative_to(source))
            for path in source.rglob("*.py")
            if re.search(r"(?<!_)warnings\.warn", path.read_text(encoding="utf-8"))
            and path.name != "errors.py"
        ]

        assert not found
