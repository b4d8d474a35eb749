"""What every model over codes that is trained on records promises: rows, given columns, conditions, files."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from record_cases import CASES, DOMAIN, QUICK_CASES, fitted, learned, records, require_library, share_near

from syntabula.errors import ArgumentError, ConditionWarning, ReleaseFileError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models import denoising
from syntabula.record_models.layer_products import ExactLayers
from syntabula.record_models.loop import Training

EXACT = [kind for kind in CASES if CASES[kind].exact]


def all_of(column: str, code: int, n: int) -> EncodedTable:
    """Return rows in which a column has one code."""
    return EncodedTable(Domain((column,), (DOMAIN.size(column),)), (np.full(n, code, np.uint8),))


def equal(one: EncodedTable, other: EncodedTable) -> bool:
    return all((x == y).all() for x, y in zip(one.codes, other.codes, strict=True))


@pytest.mark.parametrize("kind", QUICK_CASES)
class TestRows:
    @pytest.mark.thorough
    def test_they_are_as_many_as_asked_for(self, kind: str) -> None:
        rng = np.random.default_rng(0)

        assert [learned(kind).sample(n, rng).n_rows for n in (0, 1, 5_000)] == [0, 1, 5_000]

    @pytest.mark.thorough
    def test_a_generator_repeats_a_draw(self, kind: str) -> None:
        one, two = (learned(kind).sample(300, np.random.default_rng(3)) for _ in range(2))

        assert equal(one, two)

    def test_a_seed_repeats_a_training(self, kind: str) -> None:
        one, two = (fitted(kind, records(300), steps=3).state()[1] for _ in range(2))

        assert one.keys() == two.keys()
        assert all((one[name] == two[name]).all() for name in one)

    @pytest.mark.parametrize("column", ["b"])
    def test_one_column_is_enough(self, kind: str, column: str) -> None:
        only = records(600).project([column])

        made = fitted(kind, only, steps=30).sample(2_000, np.random.default_rng(0))

        wanted, found = (np.bincount(t.column(column), minlength=30) / t.n_rows for t in (only, made))
        assert np.abs(found - wanted).sum() / 2 < (0.2 if kind == "tabular_diffusion" else 0.15)

    @pytest.mark.parametrize("n", [1])
    def test_next_to_no_records_and_a_batch_beyond_them_are_enough(self, kind: str, n: int) -> None:
        made = fitted(kind, records(n), steps=3, batch=5_000).sample(20, np.random.default_rng(0))

        assert made.n_rows == 20

    def test_a_constant_column_stays_constant(self, kind: str) -> None:
        still = EncodedTable(
            DOMAIN, (records(200).codes[0], np.full(200, 7, np.uint8), np.ones(200, np.uint8))
        )

        made = fitted(kind, still, steps=5).sample(100, np.random.default_rng(0))

        assert {*made.column("b")} == {7}
        assert {*made.column("c")} == {1}


@pytest.mark.parametrize("kind", QUICK_CASES)
def test_codes_without_records_are_not_drawn(kind: str) -> None:
    every = records(600)
    few = EncodedTable(DOMAIN, (every.codes[0], every.codes[1] // 7 * 6, every.codes[2]))

    made = fitted(kind, few, steps=3).sample(2_000, np.random.default_rng(0))

    for column in DOMAIN:
        assert {*made.column(column)} <= {*few.column(column)}


@pytest.mark.parametrize("kind", QUICK_CASES)
def test_marginals_are_counts_that_add_up_to_the_records(kind: str) -> None:
    require_library(kind)
    # Of the model that needs many draws for its marginals, few are enough here.
    few = {"model": replace(CASES[kind].model, steps_back=1)} if kind == "tabular_diffusion" else {}

    pair, turned = fitted(kind, records(500), steps=2, **few).marginals([("a", "b"), ("b", "a")])

    assert pair.shape == (4, 30)
    assert pair.sum() == pytest.approx(500, rel=1e-4)
    np.testing.assert_allclose(pair, turned.T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", QUICK_CASES)
class TestGiven:
    @pytest.mark.parametrize("columns", [("a",), ("c", "b"), ("a", "b", "c")])
    def test_any_columns_stay_and_the_others_follow(self, kind: str, columns: tuple[str, ...]) -> None:
        given = records(2_000).project(columns)

        made = learned(kind).sample(2_000, np.random.default_rng(0), given)

        assert all((made.column(c) == given.column(c)).all() for c in columns)
        assert share_near(made) > CASES[kind].follows

    def test_another_number_of_codes_is_refused(self, kind: str) -> None:
        given = EncodedTable(Domain(("a",), (5,)), (np.zeros(2, np.uint8),))

        with pytest.raises(SchemaError, match="the model's number of codes"):
            learned(kind).sample(2, np.random.default_rng(0), given)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "column_trees"])
def test_a_given_code_that_no_record_had_stays_and_tells_nothing(kind: str) -> None:
    n = 5_000

    with pytest.warns(ConditionWarning, match=r"no record had some .* of 'a'"):
        made = learned(kind).sample(n, np.random.default_rng(0), all_of("a", 3, n))

    assert (made.column("a") == 3).all()
    assert np.abs(np.bincount(made.column("b") // 7, minlength=5)[:3] / n - 1 / 3).max() < 0.1


@pytest.mark.parametrize("kind", QUICK_CASES)
class TestConditions:
    def test_rows_have_them(self, kind: str) -> None:
        found = learned(kind).restricted({"a": np.array([0.0, 1.0, 0.0, 0.0])})

        rows = found.draw(300, np.random.default_rng(0))

        assert rows.n_rows == 300
        assert {*rows.column("a")} == {1}
        assert found.probability == pytest.approx(1 / 3, abs=0.1)

    def test_none_is_the_whole(self, kind: str) -> None:
        found = learned(kind).restricted({})

        assert (found.probability, found.draw(7, np.random.default_rng(0)).n_rows) == (1.0, 7)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", EXACT)
def test_what_cannot_be_has_no_chance(kind: str) -> None:
    assert learned(kind).restricted({"a": np.array([0.0, 0.0, 0.0, 1.0])}).probability == 0


SPOILS: list[dict[str, Any]] = [
    {"facts": {"ordered": ["z"]}},
    {"facts": {"total": -1}},
    {"arrays": {"one_way": np.zeros(3)}},
    {"arrays": {"one_way": np.full(36, np.nan)}},
]


class TestFiles:
    @pytest.mark.parametrize("kind", QUICK_CASES)
    def test_state_brings_back_the_same_samples_without_what_trained_it(
        self, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, case = learned(kind), CASES[kind]

        def loaded() -> Any:
            return type(model).from_state(*model.state())

        def rows(of: Any) -> Any:
            return of.sample(500, np.random.default_rng(5))

        assert equal(rows(model), rows(loaded()))
        # Without torch rows are those of a processor that is no faster by rounding.
        monkeypatch.setattr(denoising, "layers_of", ExactLayers)
        unrounded = rows(loaded())
        monkeypatch.setitem(sys.modules, case.library, None)
        assert equal(unrounded, rows(loaded()))
        assert (loaded().kind, loaded().domain, loaded().total) == (kind, DOMAIN, 4_000.0)

    @pytest.mark.parametrize("kind", QUICK_CASES)
    def test_bounds_on_arrays_are_their_sizes(self, kind: str) -> None:
        facts, arrays = learned(kind).state()

        assert learned(kind).array_bytes(facts) == {name: array.nbytes for name, array in arrays.items()}

    @pytest.mark.parametrize("kind", QUICK_CASES)
    def test_parts_that_do_not_fit_are_refused(self, kind: str) -> None:
        facts, arrays = learned(kind).state()
        used = [{"facts": {"used": wrong}} for wrong in ([1, 2], [3, 21, 9]) if "used" in facts]
        refusals = (ReleaseFileError, ArgumentError) if kind == "language" else ReleaseFileError

        for spoil in (*SPOILS, *used, *CASES[kind].spoils):
            stored = {**facts, **spoil.get("facts", {})}, {**arrays, **spoil.get("arrays", {})}
            try:
                type(learned(kind)).from_state(*stored)
            except refusals:
                continue
            pytest.fail(f"{spoil} was taken")


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "column_trees"])
def test_cost_grows_with_steps_and_ends_with_the_seconds(kind: str) -> None:
    require_library(kind)
    model = CASES[kind].model

    short, long = (model.training_cost(DOMAIN, 1_000, Training(steps=n)) for n in (10, 10_000))
    held = model.training_cost(DOMAIN, 1_000, Training(steps=10**9, seconds=5.0))

    assert 0 < short.seconds < long.seconds
    assert held.seconds == 5.0
    assert short.memory_mb > 0
