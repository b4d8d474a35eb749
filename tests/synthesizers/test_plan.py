"""Plans say what fitting a model takes, and refuse it before any data is read."""

from __future__ import annotations

import pytest

import syntabula as st
from syntabula.errors import ResourceError, SchemaError
from syntabula.models.base import StatesFitCost
from syntabula.select.rounds import pairs_of

WIDE = st.Schema({f"c{i}": st.Categorical(tuple(map(str, range(200)))) for i in range(12)})


@pytest.mark.parametrize("method", ["private-gsd", "privsyn", "gem", "margnet", "rap", "rap++"])
class TestRows:
    def test_a_plan_has_the_memory_that_a_fit_to_all_pairs_takes(self, method: str) -> None:
        pytest.importorskip("torch")
        synthesizer = st.synthesizer(method)(rare=None)
        domain = synthesizer._foresight.guessed_codec(WIDE).domain
        model = synthesizer.model.over(domain)
        assert isinstance(model, StatesFitCost)

        plan = synthesizer.plan(WIDE)

        assert plan.memory_mb > model.fit_cost(pairs_of(domain), 0).memory_mb

    def test_what_does_not_fit_is_refused_before_data_is_read(self, method: str) -> None:
        pytest.importorskip("torch")

        with pytest.raises(ResourceError, match="may need"):
            st.synthesizer(method)(rare=None, memory_mb=100.0).fit("there_is_no_such_file.csv", WIDE)

    def test_wider_tables_take_longer(self, method: str) -> None:
        pytest.importorskip("torch")
        narrow = st.Schema({name: WIDE.columns[name] for name in list(WIDE.columns)[:5]})
        synthesizer = st.synthesizer(method)(rare=None)

        assert synthesizer.plan(WIDE).seconds > 2 * synthesizer.plan(narrow).seconds


def test_a_table_or_a_path_is_no_schema() -> None:
    frame = st.datasets.census(n_rows=50)
    for wrong in (frame, "schema.yaml"):
        with pytest.raises(SchemaError, match=r"must be a syntabula.Schema, not .*Schema.from_yaml\(path\)"):
            st.MST().plan(wrong)  # type: ignore[arg-type]
        with pytest.raises(SchemaError, match=r"must be a syntabula\.Schema"):
            st.evaluate(frame, frame, schema=wrong)  # type: ignore[arg-type]


def test_a_plan_and_a_statement_are_printed_as_text() -> None:
    schema = st.datasets.schema_of("census")
    plan = st.Independent().plan(schema)
    privacy = st.Independent(seed=1).fit(st.datasets.census(n_rows=50), schema).privacy

    assert str(plan) == plan.describe()
    assert str(privacy) == privacy.text()
