"""The grid of selectors and models: what is listed can be had, and a senseless pair says why."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

import syntabula as st
from syntabula._register import list_models, list_selectors, load
from syntabula.errors import ArgumentError, ResourceError
from syntabula.models.pgm import PGM
from syntabula.select.base import Selector
from syntabula.synthesizers.marginal import MarginalLearner


class TestTables:
    def test_every_part_is_made_of_options_that_have_defaults(self) -> None:
        for info in [*list_selectors(), *list_models()]:
            method = st.Marginal(**({"selector": "one_way", "model": "pgm"} | {info.kind: info.key}))
            part = getattr(method, info.kind)

            assert is_dataclass(part)
            assert {f.name for f in fields(part) if not f.name.startswith("_")} == set(
                st.method_options(method)[info.kind]
            ), info.key

    def test_every_part_knows_its_key(self) -> None:
        for info in [*list_selectors(), *list_models()]:
            kind = load(info.kind, info.key)

            assert (kind.key if info.kind == "selector" else kind.kind) == info.key

    def test_keys_are_not_repeated(self) -> None:
        for table in (list_selectors(), list_models()):
            keys = [info.key for info in table]
            assert len(set(keys)) == len(keys)


class TestPairs:
    def test_a_named_method_is_a_pair_of_the_grid(self) -> None:
        assert st.Marginal(selector="adaptive", model="pgm").selector == st.AIM().selector

    def test_dashes_and_capitals_are_taken(self) -> None:
        assert st.Marginal(selector="All-Pairs", model="PGM").name == "all_pairs+pgm"

    def test_an_unknown_key_gets_a_hint(self) -> None:
        for selector, model, message in [
            ("adaptiv", "pgm", "no selector 'adaptiv'.*did you mean 'adaptive'"),
            ("adaptive", "pmg", "no model 'pmg'.*did you mean 'pgm'"),
        ]:
            with pytest.raises(ArgumentError, match=message):
                st.Marginal(selector=selector, model=model)

    def test_a_senseless_pair_says_why_wherever_it_is_made(self) -> None:
        network = load("model", "bayesian_network")()

        with pytest.raises(
            ArgumentError, match=r"'adaptive' cannot be combined with model 'bayesian_network'.*parents"
        ):
            st.Marginal(selector="adaptive", model="bayesian_network")
        with pytest.raises(ArgumentError, match="one set of parents"):
            st.AIM(model=network)

    def test_a_foreign_part_is_taken_and_named_by_its_class(self) -> None:
        class Mine(Selector):
            def plan(self, domain, *, model, budget, share=1, refine=()): ...
            def select(self, curator, model, *, share=1, progress=None): ...

        assert MarginalLearner(selector=Mine(), model=PGM()).name == "Mine+pgm"
        assert st.Marginal(selector=Mine(), model=PGM()).name == "Mine+pgm"

    def test_who_asks_for_a_method_gets_the_selector_of_it(self) -> None:
        for selector, part in [
            ("aim", "adaptive"),
            ("MST", "spanning_tree"),
            ("InDif", "independent_difference"),
            ("RAP++", "top_q"),
        ]:
            with pytest.raises(ArgumentError, match=f"did you mean '{part}'"):
                st.Marginal(selector=selector, model="pgm")


class TestMarginal:
    def test_the_statement_and_the_release_name_the_pair(self) -> None:
        frame, schema = st.datasets.census(n_rows=300), st.datasets.schema_of("census")

        release = st.Marginal(selector="one_way", model="pgm", seed=1).fit(frame, schema)

        assert release.method == "one_way+pgm"
        assert release.privacy.method == "one_way+pgm"

    @pytest.mark.thorough
    def test_a_model_that_cannot_hold_what_will_be_measured_is_refused_by_the_plan(self) -> None:
        method = st.Marginal(selector="all_pairs", model="pgm")
        schema = st.Schema({f"c{i}": st.Numeric(0, 99, integer=True) for i in range(200)})

        planned = method.plan(schema)

        assert planned.memory_mb > 1e9
        with pytest.raises(ResourceError, match="measure all pairs"):
            method.fit("no such file.csv", schema)
