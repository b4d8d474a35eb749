"""Plans say what fitting a model takes, and refuse it before any data is read."""

from __future__ import annotations

import math
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula._planning import PlannedFit
from syntabula._register import entries, load
from syntabula.errors import ResourceError, SchemaError
from syntabula.marginals.domain import Domain
from syntabula.marginals.recoding import Recoding
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.select.adaptive import Adaptive
from syntabula.select.base import pairs_of
from syntabula.synthesizers.plan import GUESSED_ROWS, guessed_codec, preparation_of
from syntabula.table.raw import PhysicalType

WIDE = st.Schema({f"c{i}": st.Categorical(tuple(map(str, range(200)))) for i in range(12)})


@pytest.mark.parametrize("method", ["private-gsd", "privsyn", "gem", "rap++"])
class TestRows:
    def test_a_plan_has_the_memory_that_a_fit_to_all_pairs_takes(self, method: str) -> None:
        pytest.importorskip("torch")
        synthesizer = st.synthesizer(method)(rare=None)
        domain = guessed_codec(synthesizer, WIDE, GUESSED_ROWS).domain
        model = synthesizer.model.over(domain)
        every = PlannedFit(cells=0, cliques=tuple(pairs_of(domain)))

        plan = synthesizer.plan(WIDE)

        assert plan.memory_mb > model.fit_cost(every, 0).memory_mb

    def test_what_does_not_fit_is_refused_before_data_is_read(self, method: str) -> None:
        pytest.importorskip("torch")

        with pytest.raises(ResourceError, match="may need"):
            st.synthesizer(method)(rare=None, memory_mb=100.0).fit("there_is_no_such_file.csv", WIDE)

    def test_wider_tables_take_longer(self, method: str) -> None:
        pytest.importorskip("torch")
        narrow = st.Schema({name: WIDE.columns[name] for name in list(WIDE.columns)[:5]})
        synthesizer = st.synthesizer(method)(rare=None)

        assert synthesizer.plan(WIDE).seconds > 2 * synthesizer.plan(narrow).seconds


def test_bins_that_take_more_codes_than_were_planned_are_refused_before_rows_are_coded() -> None:
    rng = np.random.default_rng(0)
    amount = np.exp(rng.normal(4, 2, (5_000, 2))).round(2)
    # Frequent values are stated: none are found, but long tails are cut and rounder values told apart.
    column = st.Numeric(0, 10**6, decimals=2, atoms=[])
    schema = st.Schema({"a": column, "b": column})
    planned = max(step.memory_mb for step in st.MST(bins=20, rare=None, epsilon=5).plan(schema).steps)
    method = st.MST(bins=20, rare=None, epsilon=5, seed=0, memory_mb=1.02 * planned)

    with pytest.raises(ResourceError, match="tree's pairs"):
        method.fit(pd.DataFrame(amount, columns=["a", "b"]), schema)


def wide(n_columns: int) -> st.Schema:
    return st.Schema({f"c{i}": st.Categorical(tuple("abcdefgh"[: 2 + i % 7])) for i in range(n_columns)})


def calls_of_plan(method: st.Synthesizer, schema: st.Schema) -> int:
    """Return how many functions of Python are called to plan."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        method.plan(schema)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("method", ["independent", "mst", "aim", "privsyn"])
class TestGrowth:
    @pytest.mark.thorough
    def test_calls_grow_no_faster_than_the_pairs_of_columns(self, method: str) -> None:
        synthesizer = st.synthesizer(method)(rare=None)
        synthesizer.plan(wide(3))  # imports what it needs

        narrow, broad = (calls_of_plan(synthesizer, wide(n)) for n in (50, 100))

        assert broad < 4.4 * narrow

    @pytest.mark.thorough
    def test_memory_grows_no_faster_than_the_pairs_of_columns(self, method: str) -> None:
        synthesizer, peaks = st.synthesizer(method)(rare=None), []
        synthesizer.plan(wide(3))
        for schema in (wide(100), wide(200)):
            tracemalloc.start()
            synthesizer.plan(schema)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

        assert peaks[1] < 5.5 * peaks[0]  # lists take room for an eighth more than they hold


def test_plan_and_fit_agree_on_how_many_bins_there_are() -> None:
    for n_rows in [1_000, 10**6, 10**9]:
        schema = st.Schema({"pay": st.Numeric(0.0, 1.0)})
        method = st.Independent(epsilon=1.0, preprocessing=st.Preprocessing(discretizer="uniform"))

        planned = guessed_codec(method, schema, n_rows).bins["pay"].size
        prepared = preparation_of(method, schema, {})

        assert planned == prepared.most_bins(method.whole_budget, n_rows)
        assert planned == {1_000: 15, 10**6: 147, 10**9: 250}[n_rows]


def test_a_plan_says_beforehand_where_noise_may_hide_bounds() -> None:
    def planned(n_columns: int, epsilon: float, n_rows: int = 2_000) -> st.Plan:
        stored = {f"c{i}": PhysicalType("float", "DOUBLE") for i in range(n_columns)}
        return st.MST(epsilon=epsilon).plan(None, n_rows, physical=stored)

    wide = planned(300, 1.0)

    # Noise hid bounds in made-up tables of 300 columns, and in none of 50.
    assert wide.least_for_bounds > 400
    assert "Noise may hide numbers and days that nothing declares" in wide.describe()
    assert wide.to_json()["least_for_bounds"] == wide.least_for_bounds
    for clear in (planned(50, 1.0), planned(300, 5.0), planned(300, 1.0, 100_000), planned(300, math.inf)):
        assert "Noise may hide" not in clear.describe()
        assert clear.least_for_bounds < clear.n_rows / 5
    assert st.MST(epsilon=1.0).plan(WIDE).least_for_bounds == 0


def test_a_table_is_no_schema() -> None:
    frame = st.datasets.census(n_rows=50)
    with pytest.raises(
        SchemaError, match=r"must be a syntabula.Schema or the path of a schema file, not DataF"
    ):
        st.MST().plan(frame)
    with pytest.raises(SchemaError, match=r"must be a syntabula\.Schema"):
        st.evaluate(frame, frame, schema=frame)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
def test_the_path_of_a_schema_file_is_taken_as_the_schema(tmp_path: Path) -> None:
    schema, frame = st.datasets.schema_of("census"), st.datasets.census(n_rows=200)
    path = tmp_path / "schema.yaml"
    schema.to_yaml(path)
    method = st.Independent(seed=1)

    for given in (path, str(path)):
        assert method.plan(given) == method.plan(schema)
        assert method.fit(frame, given).schema == schema
    scores = [st.evaluate(frame, frame, schema=given, metrics=["tvd-1"]) for given in (path, schema)]
    assert scores[0].score("tvd-1") == scores[1].score("tvd-1")
    with pytest.raises(SchemaError, match=r"absent\.yaml cannot be read"):
        method.fit(frame, tmp_path / "absent.yaml")


def test_a_plan_and_a_statement_are_printed_as_text() -> None:
    schema = st.datasets.schema_of("census")
    plan = st.Independent().plan(schema)
    privacy = st.Independent(seed=1).fit(st.datasets.census(n_rows=50), schema).privacy

    assert str(plan) == plan.describe()
    assert str(privacy) == privacy.text()


def test_every_model_says_what_a_fit_takes_and_more_marginals_take_more() -> None:
    pytest.importorskip("torch")
    domain = Domain.from_sizes({f"c{i}": 30 for i in range(6)})
    every = tuple(pairs_of(domain))
    few, many = PlannedFit(cells=1, cliques=every[:2]), PlannedFit(cells=1, cliques=every)

    for key in [entry.key for entry in entries("model")]:
        model = load("model", key)().over(domain)
        recoded = RecodedModel(model, Recoding.identity(domain))
        cheap, dear = (model.fit_cost(fit, 10_000) for fit in (few, many))

        assert 0 < cheap.memory_mb < dear.memory_mb, key
        assert 0 < cheap.seconds < dear.seconds, key
        assert recoded.fit_cost(many, 10_000) == dear, key


def test_a_model_beyond_any_machine_has_a_cost_too() -> None:
    domain = Domain.from_sizes({f"c{i}": 10**6 for i in range(200)})

    cost = PGM().over(domain).fit_cost(PlannedFit(cells=1, cliques=(domain.columns,)), 10_000)

    assert 1e12 < cost.memory_mb < float("inf")


def test_what_may_be_done_instead_takes_no_time_of_the_plan() -> None:
    schema = st.Schema({f"x{i}": st.Numeric(0.0, 1.0) for i in range(6)})

    plan = st.Auto(epsilon=1.0).plan(schema)

    instead = [step for step in plan.steps if step.instead]
    assert instead
    assert plan.seconds == pytest.approx(sum(s.seconds for s in plan.steps if s not in instead))


def test_aim_takes_longer_for_longer_tables() -> None:
    schema = st.Schema({f"x{i}": st.Numeric(0.0, 1.0) for i in range(6)})

    short, usual, long = (st.AIM(epsilon=1.0).plan(schema, n) for n in (10_000, 20_000, 200_000))

    assert usual.seconds < 2 * short.seconds
    assert long.seconds > 5 * usual.seconds


def test_each_step_that_counts_takes_longer_with_more_records() -> None:
    few, many = (st.MST(rare=None).plan(WIDE, n_rows) for n_rows in (1_000, 100_000_000))

    for one, other in zip(few.steps, many.steps, strict=True):
        assert other.seconds > one.seconds + 1, one.name


def test_cells_of_a_text_file_take_longer_to_read() -> None:
    texts = {f"c{i}": PhysicalType("text", "VARCHAR") for i in range(4)}

    frame, file = (
        st.Independent().plan(WIDE, 1_000_000, physical=texts, types_found=is_text)
        for is_text in (False, True)
    )

    # A million rows of 12 columns.
    assert file.seconds == pytest.approx(frame.seconds + 12 * 0.23)
    assert frame.steps[0].seconds < 1


class TestTablesInParts:
    SCHEMA = st.Schema(
        {"kind": st.Boolean(), "few": st.Numeric(0, 300, integer=True), "many": st.Numeric(0.0, 1.0)}
    )

    def test_take_memory_that_does_not_grow_with_the_records(self) -> None:
        # A batch, and 12 MB for the column of which values are not held.
        plans = [st.MST().plan(self.SCHEMA, 10**k, in_parts=True) for k in (7, 9)]

        assert all(plan.table_mb == plans[0].table_mb < 30 for plan in plans)
        assert plans[1].seconds > 50 * plans[0].seconds

    def test_say_how_often_they_are_read(self) -> None:
        stored = {
            "kind": PhysicalType("boolean", "bool"),
            "few": PhysicalType("integer", "int64"),
            "many": PhysicalType("float", "double"),
        }

        declared = st.MST().plan(self.SCHEMA, 10**7, in_parts=True)
        found = st.MST().plan(None, 10**7, physical=stored, in_parts=True)
        small = st.MST().plan(self.SCHEMA, 10**4, in_parts=True)

        assert (declared.passes, declared.read_again) == (2, 1)
        assert "A column with more than 262,144 values" in declared.describe()
        assert (found.passes, found.read_again) == (3, 2)
        assert (small.passes, small.read_again) == (2, 0)
        assert "262,144" not in small.describe()

    def test_with_a_unit_are_read_once_more_and_hold_something_of_each_row(self) -> None:
        declared = st.Schema({**self.SCHEMA.columns, "who": st.Identifier()}, unit="who", rows_per_unit=2)
        right, found = (st.MST().plan(schema, 10**7, in_parts=True) for schema in (self.SCHEMA, declared))
        most = st.MST(memory_mb=400).plan(declared, 10**7, in_parts=True)

        assert (right.passes, found.passes) == (2, 3)
        assert found.table_mb > 300
        assert 100 < most.table_mb < 150

    def test_of_text_without_a_schema_are_read_once_more(self) -> None:
        text = PhysicalType("text", "VARCHAR")
        found = st.MST().plan(None, 10**7, physical={"a": text}, types_found=True, in_parts=True)

        assert found.passes == 4

    def test_of_json_lines_without_a_schema_are_read_once_more(self) -> None:
        passes = [
            st.MST().plan(None, 10**7, physical={"a": PhysicalType("integer", name)}, in_parts=True).passes
            for name in ("int64", "JSON")
        ]

        assert passes == [3, 4]

    def test_of_several_processes_have_a_batch_and_a_state_for_each(self) -> None:
        one, four = (st.MST(workers=n).plan(self.SCHEMA, 10**7, in_parts=True) for n in (1, 4))

        assert 4 * one.table_mb < four.table_mb < 6 * one.table_mb


def test_a_larger_budget_takes_longer_where_it_lets_more_be_measured() -> None:
    schema = st.Schema({f"c{i}": st.Categorical(("x", "y", "z")) for i in range(50)})
    seconds = {
        e: {s.name: s.seconds for s in st.AIM(epsilon=e).plan(schema, 20_000).steps}
        for e in (0.25, 1.0, 5.0, 10.0)
    }
    (measuring,) = [s for s in Adaptive().plan(Domain.from_sizes({"a": 3, "b": 3})) if s.grows]

    steps = {e: found.pop(measuring.name) for e, found in seconds.items()}

    assert steps[0.25] == pytest.approx(steps[1.0] / 2)
    assert steps[5.0] == pytest.approx(5 * steps[1.0])
    assert steps[10.0] == pytest.approx(10 * steps[1.0])
    assert measuring.seconds_at(np.inf) == measuring.seconds_at(10.0) == 10 * measuring.seconds
    assert seconds[0.25] == seconds[1.0] == seconds[10.0]


class TestColumnsThatAllDependOnEachOther:
    """The model is then soon at its largest, and each round asks it for all pairs."""

    @staticmethod
    def of(n_columns: int) -> st.Schema:
        return st.Schema({f"c{i}": st.Categorical(("x", "y", "z")) for i in range(n_columns)})

    def test_a_wide_table_may_take_far_longer_and_the_plan_says_so(self) -> None:
        plan = st.AIM(epsilon=1).plan(self.of(60), 20_000)

        assert plan.most_seconds > 3 * plan.seconds
        assert f"(up to {plan.most_seconds:,.0f} s where nearly all columns depend on each other)" in str(
            plan
        )
        assert plan.to_json()["most_seconds"] == plan.most_seconds
        assert "up to" not in str(st.AIM(epsilon=1).plan(self.of(14), 20_000))

    def test_it_grows_with_what_lets_more_be_measured(self) -> None:
        def most(epsilon: float = 1.0, n_rows: int = 20_000, **options: int) -> float:
            plan = st.AIM(epsilon=epsilon).with_options(**options).plan(self.of(60), n_rows)
            return plan.most_seconds

        assert most(epsilon=5) > 4 * most()
        assert most(epsilon=0.25) < most() / 1.8
        assert most(n_rows=100_000) > 4 * most()
        assert most(max_rounds=6) < most() / 3
        assert most(max_model_mb=20) < most() / 3

    def test_it_is_within_a_factor_of_two_of_what_such_tables_took(self) -> None:
        """Processor seconds of 20,000 rows: five normal variables behind whole numbers and categories, measured once."""
        took = {
            1.0: {15: 6, 20: 17, 30: 34, 45: 46, 60: 88},
            5.0: {15: 35, 30: 83},
            math.inf: {15: 29, 20: 114, 30: 390},
        }
        for epsilon, of_columns in took.items():
            for n_columns, seconds in of_columns.items():
                plan = st.AIM(epsilon=epsilon).plan(self.of(n_columns), 20_000)

                assert seconds / 2 < plan.most_seconds < 2 * seconds, (epsilon, n_columns)
