"""The grid of selectors and models: what is listed can be had, and a senseless pair says why."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

import syntabula as st
from syntabula.errors import ArgumentError, ResourceError
from syntabula.models.kinds import stored_kind
from syntabula.synthesizers.grid import grid_parts, list_models, list_selectors, pair_name


class TestTables:
    def test_every_part_is_made_of_options_that_have_defaults(self) -> None:
        for role, parts in (
            *(("selector", grid_parts(info.key, "pgm")) for info in list_selectors()),
            *(("model", grid_parts("one_way", info.key)) for info in list_models()),
        ):
            assert is_dataclass(parts[role])
            assert {f.name for f in fields(parts[role]) if not f.name.startswith("_")} == set(
                st.method_options(parts)[role]
            ), parts[role]

    def test_every_model_has_the_same_key_in_a_release_file(self) -> None:
        keys = [info.key for info in list_models()]

        assert [stored_kind(grid_parts("one_way", key)["model"]) for key in keys] == keys

    def test_keys_are_not_repeated(self) -> None:
        for table in (list_selectors(), list_models()):
            keys = [info.key for info in table]
            assert len(set(keys)) == len(keys)


class TestPairs:
    def test_a_named_method_is_a_pair_of_the_grid(self) -> None:
        assert grid_parts("adaptive", "pgm")["selector"] == st.AIM().selector

    def test_dashes_and_capitals_are_taken(self) -> None:
        assert pair_name(**grid_parts("All-Pairs", "PGM")) == "all_pairs+pgm"

    @pytest.mark.parametrize(
        ("selector", "model", "message"),
        [
            ("adaptiv", "pgm", "no selector 'adaptiv'.*did you mean 'adaptive'"),
            ("adaptive", "pmg", "no model 'pmg'.*did you mean 'pgm'"),
        ],
    )
    def test_an_unknown_key_gets_a_hint(self, selector: str, model: str, message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            grid_parts(selector, model)

    def test_a_senseless_pair_says_why_wherever_it_is_made(self) -> None:
        network = grid_parts("one_way", "bayesian_network")["model"]

        with pytest.raises(
            ArgumentError, match=r"'adaptive' cannot be combined with model 'bayesian_network'.*parents"
        ):
            grid_parts("adaptive", "bayesian_network")
        with pytest.raises(ArgumentError, match="one set of parents"):
            st.AIM(model=network)

    def test_a_foreign_part_is_taken_and_named_by_its_class(self) -> None:
        class Mine:
            def select(self) -> None: ...

        parts = grid_parts("one_way", "pgm")

        assert pair_name(Mine(), parts["model"]) == "Mine+pgm"
        st.Marginal(selector=Mine(), model=parts["model"])

    @pytest.mark.parametrize(
        ("selector", "part"),
        [
            ("aim", "adaptive"),
            ("MST", "spanning_tree"),
            ("InDif", "independent_difference"),
            ("RAP++", "top_q"),
        ],
    )
    def test_who_asks_for_a_method_gets_the_selector_of_it(self, selector: str, part: str) -> None:
        with pytest.raises(ArgumentError, match=f"did you mean '{part}'"):
            grid_parts(selector, "pgm")


class TestMarginal:
    def test_the_statement_and_the_release_name_the_pair(self) -> None:
        frame, schema = st.datasets.census(n_rows=300), st.datasets.schema_of("census")

        release = st.Marginal(**grid_parts("one_way", "pgm"), seed=1).fit(frame, schema)

        assert release.method == "one_way+pgm"
        assert release.privacy.method == "one_way+pgm"

    def test_a_model_that_cannot_hold_what_will_be_measured_is_refused_by_the_plan(self) -> None:
        method = st.Marginal(**grid_parts("all_pairs", "pgm"))
        schema = st.Schema({f"c{i}": st.Numeric(0, 99, integer=True) for i in range(200)})

        planned = method.plan(schema)

        assert planned.memory_mb > 1e9
        with pytest.raises(ResourceError, match="measure all pairs"):
            method.fit("no such file.csv", schema)
