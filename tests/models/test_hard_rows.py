"""What all models of whole records promise: counting, sampling, conditioning, saving and refusing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ConditionWarning, ReleaseFileError, ResourceError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import model_from_state, model_state
from syntabula.models.genetic import Genetic
from syntabula.models.gum import GUM
from syntabula.models.hard_rows import HardRows

DOMAIN = Domain.from_sizes({"a": 3, "b": 4, "c": 2, "wide": 300})
KINDS = [GUM(passes=3), Genetic(generations=200)]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)


def measurements() -> list[Measurement]:
    joint = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(3, 4, 2) * 5000
    pairs = [(("a", "b"), 2), (("a", "c"), 1), (("b", "c"), 0)]
    return [Measurement(pair, joint.sum(axis=axis), 3.0) for pair, axis in pairs]


def fitted(kind: HardRows) -> HardRows:
    return kind.over(DOMAIN).fit(measurements())


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def counted(table: EncodedTable, clique: tuple[str, ...]) -> np.ndarray:
    counts = np.zeros(table.domain.shape(clique), dtype=np.int64)
    np.add.at(counts, tuple(table.column(c).astype(np.intp) for c in clique), 1)
    return counts


def one_way(model: HardRows, column: str) -> np.ndarray:
    return model.marginals([(column,)])[0] / model.total


@each_kind
class TestMarginals:
    def test_they_are_the_counts_of_the_records_times_their_weight(self, kind: HardRows) -> None:
        model = fitted(kind)
        n = len(model.state()[1]["rows"])
        cliques = [("a",), ("a", "b"), ("b", "a"), ("c", "wide", "a")]

        found = model.marginals(cliques)

        records = model.sample(n, rng())
        for clique, counts in zip(cliques, found, strict=True):
            np.testing.assert_allclose(counts, counted(records, clique) * model.total / n)

    def test_an_unfitted_model_is_uniform_with_a_total_of_one(self, kind: HardRows) -> None:
        (found,) = kind.over(DOMAIN).marginals([("a", "b")])

        np.testing.assert_allclose(found, 1 / 12)

    def test_counts_that_would_be_too_large_are_refused(self, kind: HardRows) -> None:
        small = replace(fitted(kind), max_memory_mb=1.0)

        with pytest.raises(ResourceError, match="above the limit of 1 MB"):
            small.marginals([("wide", "a")])

    def test_a_domain_is_needed(self, kind: HardRows) -> None:
        with pytest.raises(ArgumentError, match="domain"):
            _ = kind.domain


@each_kind
class TestSampling:
    def test_each_record_comes_as_often_as_any_other_or_once_more(self, kind: HardRows) -> None:
        model = fitted(kind)
        records = len(model.state()[1]["rows"])

        for n in [0, 1, 999, 5001, 12_345]:
            rows = model.sample(n, rng())

            assert rows.n_rows == n, n
            held = counted(model.sample(records, rng()), DOMAIN.columns)
            drawn = counted(rows, DOMAIN.columns)
            times = n // records
            assert (drawn >= times * held).all(), n
            assert (drawn <= (times + 1) * held).all(), n

    def test_the_same_generator_draws_the_same_rows_and_another_one_others(self, kind: HardRows) -> None:
        model = fitted(kind)

        one, same, other = (model.sample(500, np.random.default_rng(s)) for s in (1, 1, 2))

        assert all((x == y).all() for x, y in zip(one.codes, same.codes, strict=True))
        assert any((x != y).any() for x, y in zip(one.codes, other.codes, strict=True))

    def test_an_unfitted_model_draws_every_code(self, kind: HardRows) -> None:
        # A code of 300 is missing among 20,000 with probability below 300 exp(-66).
        rows = kind.over(DOMAIN).sample(20_000, rng())

        assert [len(np.unique(c)) for c in rows.codes] == list(DOMAIN.sizes)

    def test_a_wrong_number_of_rows_is_refused(self, kind: HardRows) -> None:
        for n in [-1, True, 2.5]:
            with pytest.raises(ArgumentError, match="n must be"):
                fitted(kind).sample(n, rng())

    def test_more_rows_than_any_machine_holds_are_refused(self, kind: HardRows) -> None:
        with pytest.raises(ResourceError):
            fitted(kind).sample(10**11, rng())


@each_kind
class TestConditioning:
    def given(self, n: int = 3000) -> EncodedTable:
        draw = np.random.default_rng(3)
        return EncodedTable(DOMAIN.project(("b", "a")), (draw.integers(0, 4, n), draw.integers(0, 3, n)))

    def test_given_columns_come_back_and_the_others_follow_the_records(self, kind: HardRows) -> None:
        model, given = fitted(kind), self.given()

        rows = model.sample(3000, rng(), given)

        assert (rows.column("a") == given.column("a")).all()
        assert (rows.column("b") == given.column("b")).all()
        (held,) = model.marginals([("a", "b", "c")])
        part = held[..., 0] / held.sum(axis=-1)
        drawn = counted(rows, ("a", "b", "c"))
        n = drawn.sum(axis=-1)
        # Six standard deviations of a binomial in each of 12 groups: false alarm below 12 * 2e-9.
        assert (np.abs(drawn[..., 0] - n * part) <= 6 * np.sqrt(n * part * (1 - part)) + 1e-9).all()

    def test_codes_that_no_record_has_are_met_by_the_nearest_records(self, kind: HardRows) -> None:
        # All records have a == b == c, so that two of three given codes can be kept at most.
        domain = Domain.from_sizes({"a": 2, "b": 2, "c": 2, "d": 2})
        facts, _ = model_state(kind.over(domain))
        records = np.array([[0, 0, 0, 1], [1, 1, 1, 0]] * 50, dtype=np.uint8)
        model = model_from_state(facts, {"rows": records})
        given = EncodedTable(
            domain.project(("a", "b", "c")), tuple(np.array(c) for c in ([0, 1], [0, 1], [1, 0]))
        )

        with pytest.warns(ConditionWarning, match="none of this model's 100 synthetic records has .* 2 of 2"):
            rows = model.sample(2, rng(), given)

        assert rows.column("c").tolist() == [1, 0]
        assert rows.column("d").tolist() == [1, 0]

    def test_records_that_agree_equally_are_equally_likely(self, kind: HardRows) -> None:
        # Two of three codes are met by the records of each half. False-alarm rate below 1e-9 (six deviations).
        domain = Domain.from_sizes({"a": 2, "b": 3, "c": 2, "d": 2})
        facts, _ = model_state(kind.over(domain))
        records = np.array([[0, 0, 0, 1], [0, 1, 0, 0]] * 50, dtype=np.uint8)
        model = model_from_state(facts, {"rows": records})
        n = 10_000
        given = EncodedTable(domain.project(("a", "b", "c")), tuple(np.full(n, c) for c in (0, 2, 0)))

        with pytest.warns(ConditionWarning):
            rows = model.sample(n, rng(), given)

        assert abs(rows.column("d").sum() - n / 2) < 6 * n**0.5 / 2

    def test_all_columns_given_come_back(self, kind: HardRows) -> None:
        given = fitted(kind).sample(50, np.random.default_rng(9))

        rows = fitted(kind).sample(50, rng(), given)

        assert all((x == y).all() for x, y in zip(rows.codes, given.codes, strict=True))

    def test_many_wide_columns_have_keys_that_do_not_overflow(self, kind: HardRows) -> None:
        domain = Domain.from_sizes({f"c{i}": 250 for i in range(12)})
        model = kind.over(domain).fit([Measurement(("c0", "c1"), np.eye(250) * 4, 1.0)])
        given = model.sample(40, rng()).project([f"c{i}" for i in range(11)])

        rows = model.sample(40, rng(), given)

        assert all((rows.column(c) == given.column(c)).all() for c in given.domain.columns)

    def test_given_rows_that_do_not_fit_are_refused(self, kind: HardRows) -> None:
        model = fitted(kind)
        unknown = EncodedTable(Domain.from_sizes({"z": 2}), (np.array([0, 1]),))
        wider = EncodedTable(Domain.from_sizes({"a": 9}), (np.array([0, 8]),))

        with pytest.raises(ArgumentError, match="given rows"):
            model.sample(5, rng(), self.given(4))
        with pytest.raises(SchemaError, match="z"):
            model.sample(2, rng(), unknown)
        with pytest.raises(SchemaError, match="codes"):
            model.sample(2, rng(), wider)


@each_kind
class TestFit:
    def test_the_same_seed_gives_the_same_records_and_another_one_others(self, kind: HardRows) -> None:
        one, same = (fitted(kind).state()[1]["rows"] for _ in range(2))
        other = fitted(type(kind)(seed=5)).state()[1]["rows"]

        assert (one == same).all()
        assert one.shape != other.shape or (one != other).any()

    def test_it_leaves_the_unfitted_model_as_it_was(self, kind: HardRows) -> None:
        model = kind.over(DOMAIN)

        model.fit(measurements())

        assert model.total == 1
        assert model.state()[1] == {}

    def test_records_take_the_smallest_type(self, kind: HardRows) -> None:
        narrow = kind.over(DOMAIN.project(("a", "b", "c"))).fit(measurements())

        assert narrow.state()[1]["rows"].dtype == np.uint8
        assert fitted(kind).state()[1]["rows"].dtype == np.uint16

    def test_impossible_cells_have_no_records_and_columns_stay(self, kind: HardRows) -> None:
        cells = np.ones((3, 4), dtype=np.bool_)
        cells[0, 3] = cells[2, 0] = False
        model, plain = fitted(kind.with_possible({("a", "b"): cells})), fitted(kind)
        rows = model.sample(5000, rng())

        assert cells[rows.column("a").astype(np.intp), rows.column("b").astype(np.intp)].all()
        for column in ("a", "b"):
            assert np.abs(one_way(model, column) - one_way(plain, column)).sum() / 2 < 0.01
        # Without weights, discarding them would change a column by more.
        kept = plain.marginals([("a", "b")])[0] * cells
        assert np.abs(kept.sum(axis=1) / kept.sum() - one_way(plain, "a")).sum() / 2 > 0.02

    def test_records_stay_where_hardly_any_is_possible(self, kind: HardRows) -> None:
        nothing = {("a", "b"): np.zeros((3, 4), dtype=np.bool_), ("a",): np.zeros(9, dtype=np.bool_)}

        assert np.array_equal(
            fitted(kind.with_possible(nothing)).state()[1]["rows"], fitted(kind).state()[1]["rows"]
        )

    def test_measurements_that_do_not_fit_are_refused(self, kind: HardRows) -> None:
        with pytest.raises(ArgumentError, match="at least one"):
            kind.over(DOMAIN).fit([])
        with pytest.raises(ArgumentError, match="shape"):
            kind.over(DOMAIN).fit([Measurement(("a",), np.ones(4), 1.0)])
        with pytest.raises(SchemaError, match="z"):
            kind.over(DOMAIN).fit([Measurement(("z",), np.ones(4), 1.0)])

    def test_what_would_take_too_much_memory_is_refused_with_numbers(self, kind: HardRows) -> None:
        small = type(kind)(max_memory_mb=1.0, max_rows=1000)

        with pytest.raises(ResourceError, match="above the limit of 1 MB"):
            small.over(DOMAIN).fit([Measurement(("a", "b", "wide"), np.ones((3, 4, 300)), 1.0)] * 10)

    def test_options_out_of_range_are_refused(self, kind: HardRows) -> None:
        for options in [{"max_rows": 0}, {"seed": -1}, {"seed": True}, {"max_memory_mb": float("inf")}]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                type(kind)(**options)


@each_kind
class TestState:
    @pytest.mark.parametrize("is_fitted", [True, False])
    def test_a_round_trip_answers_and_draws_the_same(self, kind: HardRows, is_fitted: bool) -> None:
        model = fitted(kind) if is_fitted else kind.over(DOMAIN)

        back = model_from_state(*model_state(model))

        assert type(back) is type(kind)
        assert back.domain == DOMAIN
        assert model_state(back)[0] == model_state(model)[0]
        np.testing.assert_array_equal(back.marginals([("a", "c")])[0], model.marginals([("a", "c")])[0])
        one, other = (m.sample(100, rng()) for m in (back, model))
        assert all((x == y).all() for x, y in zip(one.codes, other.codes, strict=True))

    def test_facts_that_do_not_fit_are_refused(self, kind: HardRows) -> None:
        facts, arrays = model_state(fitted(kind))

        for change in [
            {"total": float("nan")},
            {"total": "much"},
            {"sizes": [3, 4, 2]},
            {"sizes": [3, 4, 1, 300]},
            {"max_rows": 0},
            {"seed": None},
        ]:
            with pytest.raises(ReleaseFileError):
                model_from_state(facts | change, arrays)

    def test_records_that_do_not_fit_are_refused(self, kind: HardRows) -> None:
        facts, _ = model_state(fitted(kind))

        for rows in [
            np.zeros((5, 3), np.uint16),
            np.zeros((0, 4), np.uint16),
            np.zeros((5, 4), np.float64),
            np.full((5, 4), 299, np.uint16),
            np.zeros(4, np.uint16),
        ]:
            with pytest.raises(ReleaseFileError):
                model_from_state(facts, {"rows": rows})

    def test_parts_that_are_missing_or_too_many_are_refused(self, kind: HardRows) -> None:
        facts, arrays = model_state(fitted(kind))
        without = {k: v for k, v in facts.items() if k != "total"}

        with pytest.raises(ReleaseFileError):
            model_from_state(without, arrays)
        with pytest.raises(ReleaseFileError):
            model_from_state(facts, arrays | {"more": np.zeros(3)})
