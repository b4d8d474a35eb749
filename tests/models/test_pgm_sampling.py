"""Rows drawn from a graphical model: freely, with some columns given, and after a round trip through its state.

Free draws round (McKenna, Sheldon, Miklau 2019): within a group of g rows a code gets floor(g p) rows or one
more. That bound is exact and needs no statistics. The other tests state their false-alarm rate: it holds over
the choice of seeds, which are fixed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from syntabula.errors import ArgumentError, ConditionWarning, ReleaseFileError, ResourceError, SchemaError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.junction_tree import sample as conditional
from syntabula.models.pgm import PGM
from syntabula.models.tables import round_rows

CHAIN = Domain.from_sizes({"a": 3, "b": 4, "c": 2, "d": 5})
PAIRS: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d")]
LEAST_P = 1e-9  # of a chi-square test


def model_of(domain: Domain, potentials: dict[Clique, np.ndarray]) -> PGM:
    """Make a model with given log-potentials, by the same door that a release file uses."""
    facts, _ = PGM().over(domain).state()
    facts = {**facts, "cliques": [list(c) for c in potentials]}
    return PGM.from_state(facts, {f"potential/{i}": p for i, p in enumerate(potentials.values())})


def random_model(domain: Domain, cliques: list[Clique], seed: int = 0) -> PGM:
    rng = np.random.default_rng(seed)
    return model_of(domain, {c: rng.normal(size=domain.shape(c)) for c in cliques})


def counted(table: EncodedTable, clique: Clique) -> np.ndarray:
    counts = np.zeros(table.domain.shape(clique), dtype=np.int64)
    np.add.at(counts, tuple(table.column(c) for c in clique), 1)
    return counts


def probabilities(model: PGM, clique: Clique) -> np.ndarray:
    (table,) = model.marginals([clique])
    return table / table.sum()


def p_value(counts: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square test against expected probabilities; cells of a small expectation are joined."""
    wanted = (expected / expected.sum() * counts.sum()).ravel()
    small = wanted < 10
    joined = [np.append(x[~small], x[small].sum()) for x in (counts.ravel(), wanted)]
    kept = joined[1] > 0
    return float(stats.chisquare(joined[0][kept], joined[1][kept]).pvalue)


class TestRounding:
    def test_each_code_of_a_lone_column_is_within_one_row_of_its_expectation(self) -> None:
        for seed in range(5):
            for n in [1, 7, 100, 12_345]:
                model = random_model(CHAIN, [(c,) for c in CHAIN.columns], seed)

                rows = model.sample(n, np.random.default_rng(seed))

                assert rows.n_rows == n, seed
                for column in CHAIN.columns:
                    assert np.abs(counted(rows, (column,)) - n * probabilities(model, (column,))).max() < 1, (
                        seed,
                        n,
                    )

    def test_marginals_of_the_tree_are_within_the_roundings_on_the_way(self) -> None:
        n = 50_000
        for seed in range(5):
            model = random_model(CHAIN, PAIRS, seed)

            rows = model.sample(n, np.random.default_rng(seed))

            # From the root on each cell adds less than one row to the error that its parent code came with. Its
            # parent is off by the sum of at most 5 cells, so that three pairs are within 1 + 5 (1 + 5 (1 + 1)).
            for pair in PAIRS:
                assert np.abs(counted(rows, pair) - n * probabilities(model, pair)).max() < 56, seed

    def test_a_column_follows_what_was_drawn_before_it_within_one_row(self) -> None:
        domain = Domain.from_sizes({"a": 3, "b": 2, "c": 4})
        model = random_model(domain, [("a", "b", "c")])

        rows = model.sample(9_999, np.random.default_rng(0))

        joint = probabilities(model, ("a", "b", "c"))
        given_ab = joint / joint.sum(axis=2, keepdims=True)
        groups = counted(rows, ("a", "b"))
        assert np.abs(counted(rows, ("a", "b", "c")) - groups[:, :, None] * given_ab).max() < 1
        given_a = joint.sum(axis=2) / joint.sum(axis=(1, 2))[:, None]
        assert np.abs(groups - counted(rows, ("a",))[:, None] * given_a).max() < 1

    def test_rounding_keeps_sums_and_whole_numbers(self) -> None:
        rng = np.random.default_rng(0)
        expected = np.array([[2.0, 3.0, 0.0], [0.25, 0.25, 0.5], [1.9, 0.05, 0.05]])

        rounded = round_rows(expected, np.array([5, 1, 2]), rng)

        assert rounded[0].tolist() == [2, 3, 0]
        assert rounded.sum(axis=1).tolist() == [5, 1, 2]
        assert (np.abs(rounded - expected) < 1).all()


class TestDistribution:
    def test_pairs_across_the_tree_follow_the_model(self) -> None:
        for pair in [("a", "c"), ("a", "d"), ("b", "d")]:
            # Rounding only lowers the multinomial variance n p (1 - p): six deviations and the roundings of the
            # bound above; over 60 cells a false alarm has probability below 2e-7.
            n = 40_000
            model = random_model(CHAIN, PAIRS, 3)

            rows = model.sample(n, np.random.default_rng(1))

            expected = n * probabilities(model, pair)
            assert (np.abs(counted(rows, pair) - expected) <= 6 * np.sqrt(expected) + 56).all()

    @pytest.mark.thorough
    def test_single_rows_are_drawn_from_the_joint_distribution(self) -> None:
        # One row leaves nothing to round down: the draw is exact. False-alarm rate 1e-9.
        domain = Domain.from_sizes({"a": 3, "b": 2, "c": 2})
        model = random_model(domain, [("a", "b"), ("b", "c")])
        rng = np.random.default_rng(2)
        counts = np.zeros(domain.sizes, dtype=np.int64)

        for _ in range(5_000):
            row = model.sample(1, rng)
            counts[tuple(int(codes[0]) for codes in row.codes)] += 1

        assert p_value(counts, probabilities(model, domain.columns)) > LEAST_P

    def test_rows_come_in_random_order(self) -> None:
        # The first half holds a hypergeometric number of each code. False-alarm rate 1e-9 per code.
        model = random_model(CHAIN, PAIRS, 4)

        rows = model.sample(10_000, np.random.default_rng(3))

        for column in CHAIN.columns:
            codes = rows.column(column)
            for code, total in enumerate(np.bincount(codes, minlength=CHAIN.size(column))):
                first = int((codes[:5_000] == code).sum())
                law = stats.hypergeom(10_000, int(total), 5_000)
                assert min(law.cdf(first), law.sf(first - 1)) > 0.5e-9

    def test_impossible_cells_are_never_drawn(self) -> None:
        potential = np.zeros((3, 4))
        potential[0, 1:] = potential[1, 0] = -2_000.0  # exp(-2000) is 0 in float64
        model = model_of(Domain.from_sizes({"a": 3, "b": 4}), {("a", "b"): potential})

        counts = counted(model.sample(5_000, np.random.default_rng(0)), ("a", "b"))

        assert counts[0, 1:].sum() == counts[1, 0] == 0
        assert counts.sum() == 5_000

    def test_a_seed_repeats_the_rows(self) -> None:
        model = random_model(CHAIN, PAIRS)

        one, again, other = (model.sample(200, np.random.default_rng(s)) for s in (1, 1, 2))

        assert all(np.array_equal(x, y) for x, y in zip(one.codes, again.codes, strict=True))
        assert not all(np.array_equal(x, y) for x, y in zip(one.codes, other.codes, strict=True))


class TestGiven:
    @staticmethod
    def repeated(columns: dict[str, int], n: int, domain: Domain = CHAIN) -> EncodedTable:
        part = domain.project(tuple(columns))
        return EncodedTable(part, tuple(np.full(n, code, dtype=np.int64) for code in columns.values()))

    def test_other_columns_follow_the_conditional_distribution(self) -> None:
        for evidence in [{"a": 1}, {"b": 2, "d": 0}, {"c": 1}, {"a": 0, "b": 1, "d": 3}]:
            # Rows are drawn independently. False-alarm rate 1e-9 for each of the sets.
            model = random_model(CHAIN, PAIRS, 5)
            given = self.repeated(evidence, 20_000)

            rows = model.sample(20_000, np.random.default_rng(4), given)

            rest = tuple(c for c in CHAIN.columns if c not in evidence)
            joint = probabilities(model, (*evidence, *rest))
            assert p_value(counted(rows, rest), joint[tuple(evidence.values())]) > LEAST_P

    @pytest.mark.parametrize("columns", ["a", "adf", "bcdg"])
    @pytest.mark.parametrize("at_once", [None, 40])
    def test_rows_that_are_given_differently_follow_their_own(
        self, columns: str, at_once: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Evidence in cliques of three columns and in two trees, as a whole and a few combinations at a time.
        # False-alarm rate 1e-9 for each of the cases.
        if at_once is not None:
            monkeypatch.setattr(conditional, "_CELLS_AT_ONCE", at_once)
            monkeypatch.setattr(conditional, "_GROUPS_AT_ONCE", 3)
        domain = Domain.from_sizes({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3, "f": 2, "g": 2})
        model = random_model(domain, [("a", "b", "c"), ("b", "c", "d"), ("d", "e"), ("f", "g")], 6)
        rng, n = np.random.default_rng(5), 30_000
        part = domain.project(columns)
        given = EncodedTable(part, tuple(rng.integers(0, size, n) for size in part.sizes))

        rows = model.sample(n, rng, given)

        assert all(np.array_equal(rows.column(c), given.column(c)) for c in columns)
        rest = tuple(c for c in domain.columns if c not in columns)
        joint = probabilities(model, (*columns, *rest))
        own = joint / joint.sum(axis=tuple(range(len(columns), 7)), keepdims=True)
        asked = counted(given, tuple(columns)).reshape(*part.sizes, *[1] * len(rest))
        assert p_value(counted(rows, (*columns, *rest)), own * asked) > LEAST_P

    def test_each_row_keeps_what_it_was_given(self) -> None:
        rng = np.random.default_rng(0)
        model = random_model(CHAIN, PAIRS)
        given = EncodedTable(
            CHAIN.project(("d", "a")), (rng.integers(0, 5, 3_000), rng.integers(0, 3, 3_000))
        )

        rows = model.sample(3_000, rng, given)

        assert rows.domain == CHAIN
        assert np.array_equal(rows.column("d"), given.column("d"))
        assert np.array_equal(rows.column("a"), given.column("a"))

    def test_given_all_columns_come_back(self) -> None:
        model = random_model(CHAIN, PAIRS)
        given = model.sample(50, np.random.default_rng(0))

        rows = model.sample(50, np.random.default_rng(1), given)

        assert all(np.array_equal(x, y) for x, y in zip(rows.codes, given.codes, strict=True))

    def test_what_the_model_holds_impossible_is_drawn_all_the_same_and_said(self) -> None:
        potential = np.full((3, 4), -2_000.0)
        np.fill_diagonal(potential, 0.0)
        domain = Domain.from_sizes({"a": 3, "b": 4, "c": 2})
        # Code 1 of c is impossible whatever b is.
        model = model_of(domain, {("a", "b"): potential, ("b", "c"): np.array([[0.0, -2_000.0]] * 4)})
        given = EncodedTable(domain.project("ab"), (np.zeros(100, int), np.repeat([0, 1], [60, 40])))

        with pytest.warns(ConditionWarning, match="values of 40 of 100 given rows"):
            rows = model.sample(100, np.random.default_rng(0), given)

        assert rows.column("a").tolist() == [0] * 100
        assert rows.column("b").tolist() == [0] * 60 + [1] * 40
        assert set(rows.column("c")) == {0}

    def test_no_rows_given_no_rows_drawn(self) -> None:
        rows = random_model(CHAIN, PAIRS).sample(0, np.random.default_rng(0), self.repeated({"a": 0}, 0))

        assert rows.n_rows == 0
        assert rows.domain == CHAIN

    def test_given_rows_that_do_not_fit_are_refused(self) -> None:
        model, rng = random_model(CHAIN, PAIRS), np.random.default_rng(0)

        with pytest.raises(ArgumentError, match="number of given rows"):
            model.sample(3, rng, self.repeated({"a": 0}, 2))
        with pytest.raises(SchemaError, match="'a'"):
            model.sample(1, rng, self.repeated({"a": 0}, 1, Domain.from_sizes({"a": 9})))
        with pytest.raises(SchemaError, match="'z'"):
            model.sample(1, rng, self.repeated({"z": 0}, 1, Domain.from_sizes({"z": 2})))


class TestArguments:
    def test_a_senseless_number_of_rows_is_refused(self) -> None:
        for n in [-1, 2.0, "3", True, None]:
            with pytest.raises(ArgumentError, match="n must be"):
                random_model(CHAIN, PAIRS).sample(n, np.random.default_rng(0))

    def test_more_rows_than_any_memory_holds_are_refused(self) -> None:
        with pytest.raises(ResourceError, match="fewer rows"):
            random_model(CHAIN, PAIRS).sample(2**63, np.random.default_rng(0))

    def test_no_rows_are_a_table_without_rows(self) -> None:
        rows = random_model(CHAIN, PAIRS).sample(0, np.random.default_rng(0))

        assert rows.n_rows == 0
        assert rows.domain == CHAIN


class TestState:
    @staticmethod
    def fitted() -> PGM:
        rng = np.random.default_rng(6)
        measured = [
            Measurement(c, 100 * rng.random(CHAIN.shape(c)) + rng.normal(0, 3, CHAIN.shape(c)), 3.0)
            for c in PAIRS
        ]
        return PGM(iterations=77, stop_at_noise=False).over(CHAIN).fit(measured)

    def test_a_round_trip_keeps_marginals_samples_and_options(self) -> None:
        model = self.fitted()

        back = PGM.from_state(*model.state())

        assert (back.iterations, back.stop_at_noise, back.total) == (77, False, model.total)
        cliques = [c for k in (1, 2, 3) for c in combinations(CHAIN.columns, k)]
        for one, other in zip(model.marginals(cliques), back.marginals(cliques), strict=True):
            assert np.array_equal(one, other)
        one, other = (m.sample(300, np.random.default_rng(0)) for m in (model, back))
        assert all(np.array_equal(x, y) for x, y in zip(one.codes, other.codes, strict=True))

    def test_it_goes_on_learning_where_it_stood(self) -> None:
        model = self.fitted()
        more = [Measurement(c, m, 1.0) for c, m in zip(PAIRS, model.marginals(PAIRS), strict=True)]

        one, other = (m.fit(more).marginals(PAIRS) for m in (model, PGM.from_state(*model.state())))

        assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))

    def test_parts_that_do_not_fit_together_are_refused(self) -> None:
        cases = [
            lambda f, a: (f | {"total": -1.0}, a),
            lambda f, a: (f | {"total": float("nan")}, a),
            lambda f, a: (f | {"sizes": [3, 4, 2]}, a),
            lambda f, a: (f | {"sizes": [3, 4, 2, 6]}, a),
            lambda f, a: (f | {"cliques": [["a", "z"], *f["cliques"][1:]]}, a),
            lambda f, a: (f | {"cliques": [["b", "a"], *f["cliques"][1:]]}, a),
            lambda f, a: (f | {"iterations": 0}, a),
            lambda f, a: ({k: v for k, v in f.items() if k != "columns"}, a),
            lambda f, a: (f, {k: v for k, v in a.items() if k != "potential/0"}),
            lambda f, a: (f, a | {"potential/9": np.zeros(3)}),
            lambda f, a: (f, a | {"potential/0": np.full((3, 4), np.nan)}),
            lambda f, a: (f, a | {"potential/0": np.zeros((4, 3))}),
        ]
        for damage in cases:
            facts, arrays = self.fitted().state()

            with pytest.raises(ReleaseFileError, match="incomplete or inconsistent"):
                PGM.from_state(*damage(dict(facts), dict(arrays)))
