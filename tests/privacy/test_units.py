"""Whom rows are about: what is kept of a unit looks at nothing but its key and its own rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from syntabula.errors import ArgumentError
from syntabula.privacy.noise import SecureNoise, SeededNoise
from syntabula.privacy.units import RECORD, Unit, Units, digests_of, unit_key_of

SECRET = bytes(range(32))


def units_of(names: list[str], secret: bytes = SECRET) -> Units:
    keys, numbers = np.unique(np.array(names, dtype=object), return_inverse=True)
    return Units.of(numbers, [str(key) for key in keys], secret)


NAMES = st.lists(st.sampled_from([f"person {i}" for i in range(6)]), min_size=1, max_size=40)


class TestKept:
    @pytest.mark.thorough
    @given(NAMES, st.integers(1, 5))
    def test_no_unit_keeps_more_rows_than_allowed_or_fewer_than_it_could(self, names, most):
        kept = units_of(names).kept(most)

        for person in set(names):
            rows = [row for row in kept if names[row] == person]
            assert len(rows) == min(most, names.count(person))

    @pytest.mark.thorough
    @given(NAMES, st.integers(1, 5), st.data())
    def test_without_a_unit_the_same_is_kept_of_all_others(self, names, most, data):
        gone = data.draw(st.sampled_from(sorted(set(names))))
        rest = [row for row, name in enumerate(names) if name != gone]
        units, fewer = units_of(names), units_of([names[row] for row in rest] or ["nobody"])

        if rest:
            assert [rest[row] for row in fewer.kept(most)] == [
                r for r in units.kept(most) if names[r] != gone
            ]
            assert (fewer.slots(most) == units.slots(most)[rest]).all()
            assert (fewer.words == units.words[rest]).all()

    def test_each_row_of_a_unit_is_kept_as_often_as_any_other(self):
        # 4,000 units of five rows each keep two: a row is kept by 1,600 on average. The chi-square of four degrees
        # exceeds 35 with probability below 1e-6 if rows are chosen at random.
        units = units_of([f"person {i}" for i in range(4000) for _ in range(5)])
        counts = np.bincount(units.kept(2) % 5, minlength=5)

        # The counts of a draw without replacement vary less than independent ones.
        assert stats.chisquare(counts).statistic < 35


class TestSecret:
    def test_another_one_keeps_other_rows(self):
        names = [f"person {i}" for i in range(50) for _ in range(5)]
        kept = [units_of(names, bytes([i]) * 32).kept(2).tolist() for i in range(2)]

        assert kept[0] != kept[1]

    def test_of_a_seeded_source_follows_from_the_seed_alone(self):
        source = SeededNoise(3)
        before = unit_key_of(source)
        source.begin_draw()

        assert len(before) == 32
        assert before == unit_key_of(source) == unit_key_of(SeededNoise(3)) != unit_key_of(SeededNoise(4))

    def test_of_a_secure_source_is_drawn_anew(self):
        assert unit_key_of(SecureNoise()) != unit_key_of(SecureNoise())

    def test_is_needed(self):
        with pytest.raises(ArgumentError, match="unit_key"):
            unit_key_of(object())


class TestDigests:
    @pytest.mark.thorough
    @given(NAMES, st.integers(1, 5))
    def test_units_known_by_digests_are_those_known_by_keys(self, names, most):
        right, found = units_of(names), Units.of_digests(digests_of(names, SECRET))

        assert (found.kept(most) == right.kept(most)).all()
        assert (found.words == right.words).all()
        assert (found.slots(most) == right.slots(most)).all()
        assert len(set(zip(found.numbers.tolist(), right.numbers.tolist(), strict=True))) == len(set(names))

    def test_of_no_rows_are_no_units(self):
        assert Units.of_digests(np.zeros((0, 2), np.uint64)).kept(1).size == 0


class TestSlots:
    @pytest.mark.thorough
    @given(NAMES, st.integers(1, 5))
    def test_no_two_rows_of_a_unit_share_a_slot(self, names, most):
        units = units_of(names)
        kept = units.take(units.kept(most))
        slots = kept.slots(most)

        assert ((slots >= 0) & (slots < most)).all()
        assert len(set(zip(kept.numbers.tolist(), slots.tolist(), strict=True))) == slots.size

    def test_slots_hold_about_as_many_rows(self):
        # 20,000 units with one row each: chi-square of four degrees, above 35 with probability below 1e-6.
        counts = np.bincount(units_of([f"person {i}" for i in range(20_000)]).slots(5))

        assert stats.chisquare(counts).statistic < 35


class TestSizes:
    def test_units_are_counted_once_each(self):
        sizes = units_of(["a", "b", "a", "c", "a"]).sizes()

        assert (sizes.values.tolist(), sizes.counts.tolist()) == ([1, 3], [2, 1])

    def test_units_without_a_row_left_are_not_counted(self):
        units = units_of(["a", "b", "a"])

        assert units.take(np.array([0])).sizes().values.tolist() == [1]


class TestWords:
    def test_a_record_is_the_unit_by_default(self):
        assert (RECORD.column, RECORD.rows) == (None, 1)
        assert RECORD.relation == "add or remove one record"

    def test_a_unit_says_its_column_and_its_rows(self):
        assert Unit("person", 5).relation == "add or remove all rows with one 'person', at most 5"

    def test_nothing_is_shown_of_rows(self):
        assert repr(units_of(["secret"])) == "Units()"


def test_the_order_of_units_among_each_other_does_not_matter():
    for seed in range(3):
        names = [f"person {i % 7}" for i in range(40)]
        order = np.random.default_rng(seed).permutation(7)
        # Persons move as a whole, and the rows of each stay in their order.
        rows = [row for person in order for row in range(40) if row % 7 == person]
        units, moved = units_of(names), units_of([names[row] for row in rows])

        assert sorted(rows[row] for row in moved.kept(2)) == units.kept(2).tolist()
