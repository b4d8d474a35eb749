"""Queries one by one: cells, thresholds and trends, chosen with the sensitivity of one record, exactly, and measured."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, BudgetExceededError, ResourceError
from syntabula.marginals import threshold as module
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.threshold import CrossedThresholds, LinearThreshold, random_thresholds
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import queries
from syntabula.privacy.doors.queries import CellCurator, ThresholdCurator, TrendCurator, with_thresholds
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

CELLS = Domain.from_sizes({"a": 3, "b": 2, "c": 4})
PAIRS = list(combinations("abc", 2))
FEW_ROWS = EncodedTable(
    CELLS,
    tuple(np.array(x, dtype=np.uint8) for x in ([0, 0, 1, 2, 2, 2], [0, 0, 1, 1, 1, 1], [3, 3, 0, 1, 2, 2])),
)


def curator_of_cells(budget: Budget = NO_PRIVACY, seed: int = 0) -> Curator:
    return Curator(MemoryEngine(FEW_ROWS), Ledger(budget), SeededNoise(seed))


def zeros() -> list[np.ndarray]:
    return [np.zeros(CELLS.shape(c)) for c in PAIRS]


class TestChoiceOfCells:
    def test_without_noise_the_cell_farthest_off_is_chosen(self) -> None:
        cells = CellCurator(curator_of_cells(), PAIRS)

        first = cells.choose(zeros(), share=0.1, step="choose")
        second = cells.choose(zeros(), without=[first], share=0.1, step="choose")

        assert first == (("a", "b"), (2, 1))
        assert second == (("a", "b"), (0, 0)) or second == (("b", "c"), (0, 3))

    def test_a_cell_that_the_model_knows_is_not_chosen(self) -> None:
        estimates = [MemoryEngine(FEW_ROWS).counts([c])[0].astype(float) for c in PAIRS]
        estimates[2][1, 2] += 5

        chosen = CellCurator(curator_of_cells(), PAIRS).choose(estimates, share=0.1, step="choose")

        assert chosen == (("b", "c"), (1, 2))

    def test_it_is_one_exponential_mechanism_over_all_candidates(self) -> None:
        curator = curator_of_cells(Budget.zcdp(1.0, 1e-6))

        CellCurator(curator, PAIRS).choose(zeros(), without=[(("a", "b"), (0, 0))], share=0.08, step="choose")

        (entry,) = curator.ledger.entries
        assert isinstance(entry.event, ExponentialEvent)
        assert entry.event.candidates == 6 + 12 + 8 - 1
        assert entry.event.epsilon == pytest.approx(np.sqrt(8 * 0.08))

    @pytest.mark.parametrize("total", [1e3, 2.0**33, 2.0**44, 1e17, 1e300])
    def test_one_record_changes_each_score_by_at_most_one_however_large_what_is_believed_is(
        self, total: float
    ) -> None:
        estimates = [np.full(CELLS.shape(c), total / 7) for c in PAIRS]
        seen: list[np.ndarray] = []
        for n in (5, 6):
            rows = EncodedTable(CELLS, tuple(c[:n] for c in FEW_ROWS.codes))
            curator = Curator(MemoryEngine(rows), Ledger(Budget.pure(1.0)), SeededNoise(0))
            curator._source.noisy_max = lambda scores, scale: seen.append(scores) or 0  # type: ignore[func-returns-value, method-assign]
            CellCurator(curator, PAIRS).choose(estimates, share=0.1, step="choose")

        assert np.abs(seen[0] - seen[1]).max() <= 1

    def test_an_estimate_of_another_shape_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="shape"):
            CellCurator(curator_of_cells(), PAIRS).choose(
                [e.ravel() for e in zeros()], share=0.1, step="choose"
            )

    def test_every_cell_can_be_named(self) -> None:
        cells = CellCurator(curator_of_cells(), PAIRS)
        known: list = []

        for _ in range(26):
            known.append(cells.choose(zeros(), without=known, share=0.01, step="choose"))

        assert len(set(known)) == 26
        with pytest.raises(ArgumentError):
            cells.choose(zeros(), without=known, share=0.01, step="choose")


class TestMeasurementOfCells:
    def test_only_the_cells_asked_for_are_known(self) -> None:
        cells = CellCurator(curator_of_cells(), PAIRS)

        one, other = cells.measure(
            [(("a", "b"), (2, 1)), (("b", "c"), (0, 3)), (("a", "b"), (1, 1))], share=0.5, step="measure"
        )

        assert (one.clique, other.clique) == (("a", "b"), ("b", "c"))
        assert np.array_equal(one.values, [[0, 0], [0, 1], [0, 3]])
        assert np.array_equal(other.values, [[0, 0, 0, 2], [0, 0, 0, 0]])
        assert ((one.sigma == 0) == [[False, False], [False, True], [False, True]]).all()
        assert one.sigma.max() >= 1e9

    def test_cells_of_one_marginal_share_their_cost(self) -> None:
        curator = curator_of_cells(Budget.zcdp(1.0, 1e-6))
        cells = CellCurator(curator, PAIRS)

        cells.measure([(("a", "b"), (0, 0)), (("a", "b"), (1, 0))], share=0.5, step="measure")
        cells.measure([(("a", "b"), (0, 0)), (("a", "c"), (1, 0))], share=0.5, step="measure")

        one, two = (e.event for e in curator.ledger.entries)
        assert isinstance(one, GaussianEvent)
        assert isinstance(two, GaussianEvent)
        assert (one.l2_sensitivity_squared, one.cells) == (1, 2)
        assert (two.l2_sensitivity_squared, two.cells) == (2, 2)
        assert one.sigma == pytest.approx(1.0)

    def test_a_pure_budget_buys_laplace_noise(self) -> None:
        curator = curator_of_cells(Budget.pure(1.0))

        CellCurator(curator, PAIRS).measure([(("a", "b"), (0, 0)), (("a", "c"), (1, 0))], share=1, step="m")

        (entry,) = curator.ledger.entries
        assert isinstance(entry.event, LaplaceEvent)
        assert entry.event.scale == pytest.approx(2.0)

    def test_noise_is_that_of_the_event(self) -> None:
        # Eight cells at sigma 100: a sum of squares beyond 60 times the variance has probability below 1e-9.
        curator = curator_of_cells(Budget.zcdp(1.0, 1e-6))
        cells = [(("b", "c"), (i, j)) for i in range(2) for j in range(4)]

        (found,) = CellCurator(curator, PAIRS).measure(cells, share=0.5e-4, step="measure")

        (exact,) = MemoryEngine(FEW_ROWS).counts([("b", "c")])
        assert np.asarray(found.sigma) == pytest.approx(100.0)
        assert 0 < np.square((found.values - exact) / 100).sum() < 60

    def test_nothing_is_drawn_that_cannot_be_paid(self) -> None:
        curator = curator_of_cells(Budget.zcdp(1.0, 1e-6))
        cells = CellCurator(curator, PAIRS)
        cells.measure([(("a", "b"), (0, 0))], share=0.7, step="measure")

        with pytest.raises(BudgetExceededError):
            cells.measure([(("a", "b"), (0, 0))], share=0.7, step="measure")
        with pytest.raises(BudgetExceededError):
            cells.choose(zeros(), share=0.7, step="choose")

    def test_cells_that_are_not_there_are_refused(self) -> None:
        for cells in [[], [(("a", "z"), (0, 0))], [(("a", "b"), (0, 2))]]:
            with pytest.raises(ValueError):
                CellCurator(curator_of_cells(), PAIRS).measure(cells, share=0.5, step="measure")


DOMAIN = Domain.from_sizes({"x": 8, "y": 8, "c": 3, "d": 2})
EVERY = np.ones(100, dtype=bool)


def table(n: int = 2000) -> EncodedTable:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, n)
    y = np.clip(x + rng.integers(-1, 2, n), 0, 7)
    return EncodedTable(DOMAIN, (x, y, (x > 4).astype(int) + rng.integers(0, 2, n), rng.integers(0, 2, n)))


def curator(budget: Budget = NO_PRIVACY, rows: EncodedTable | None = None) -> Curator:
    return Curator(MemoryEngine(rows or table()), Ledger(budget), SeededNoise(0))


def drawn(*others: str, n: int = 100) -> CrossedThresholds:
    return random_thresholds(["x", "y"], others, n, np.random.default_rng(1))


def answers(asked: ThresholdCurator) -> np.ndarray:
    return asked._all().reveal_inside_privacy()


class TestThresholdColumns:
    def test_are_counted_with_others(self) -> None:
        rows = table()
        threshold = LinearThreshold(("x", "y"), np.array([1.0, 0.5]), 0.8)

        wider = with_thresholds(curator(NO_PRIVACY, rows), {"t": threshold})

        (found,) = wider.measure([("t", "c")], share=0.5, step="measure")
        assert found.values.sum() == 2000
        assert found.values[1].sum() == threshold.codes(rows).sum()

    def test_are_paid_for_on_the_same_ledger(self) -> None:
        first = curator(Budget.zcdp(1.0, 1e-6))
        drawn = random_thresholds(["x"], [], 2, np.random.default_rng(0))
        wider = with_thresholds(first, drawn.named([0, 1]))

        wider.measure([("threshold 0",)], share=0.5, step="measure")

        assert float(first.ledger.spent) == pytest.approx(0.5)

    def test_cannot_have_the_name_of_a_column(self) -> None:
        with pytest.raises(ArgumentError, match="name"):
            with_thresholds(curator(NO_PRIVACY), {"x": LinearThreshold(("y",), np.array([1.0]), 0.0)})


class TestAnswers:
    def test_they_are_how_many_records_pass_by_their_other_code(self) -> None:
        for others in [(), ("c",), ("c", "d")]:
            rows, thresholds = table(), drawn(*others)

            found = answers(ThresholdCurator(curator(rows=rows), thresholds))

            named = thresholds.named(range(100))
            for number in range(100):
                name, *column = thresholds.clique(number)
                passed = named[name].codes(rows).astype(bool)
                codes = rows.column(column[0]) if column else np.zeros(rows.n_rows, dtype=int)
                assert found[number].tolist() == np.bincount(codes[passed], minlength=found.shape[1]).tolist()

    def test_a_record_answers_alike_whoever_is_beside_it(self) -> None:
        # Weighted sums of many columns in another order would round otherwise, were they not exact.
        rng = np.random.default_rng(2)
        domain = Domain.from_sizes({f"c{i}": 97 for i in range(40)})
        thresholds = random_thresholds(domain.columns, [], 300, rng)
        codes = [rng.integers(0, 97, 50) for _ in domain.columns]

        def of(rows: slice) -> np.ndarray:
            part = EncodedTable(domain, tuple(c[rows] for c in codes))
            return answers(ThresholdCurator(curator(rows=part), thresholds))

        apart = sum(of(slice(i, i + 1)) for i in range(50))
        assert np.array_equal(of(slice(None)), apart)

    @pytest.mark.parametrize("rows_at_once", [1, 7, 4096])
    def test_they_do_not_hang_on_how_many_are_counted_at_once(
        self, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        right = answers(ThresholdCurator(curator(rows=table(200)), drawn("c")))
        monkeypatch.setattr(module, "_ROWS_AT_ONCE", rows_at_once)
        monkeypatch.setattr(module, "_THRESHOLDS_AT_ONCE", 3)

        assert np.array_equal(answers(ThresholdCurator(curator(rows=table(200)), drawn("c"))), right)

    def test_merged_codes_are_counted_as_they_are_asked_for(self) -> None:
        merged = Recoding(DOMAIN, {"c": np.array([0, 1, 1])}, {})

        found = answers(ThresholdCurator(curator().recoded(merged), drawn("c")))

        whole = answers(ThresholdCurator(curator(), drawn("c")))
        assert np.array_equal(found, np.stack([whole[:, 0], whole[:, 1:].sum(axis=1)], axis=1))

    def test_they_are_sums_over_the_pieces_of_a_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = answers(ThresholdCurator(curator(), drawn("c")))
        pieces = [EncodedTable(DOMAIN, tuple(c[i::3] for c in table().codes)) for i in range(3)]
        monkeypatch.setattr(MemoryEngine, "summed", lambda self, counts: sum(map(counts, pieces)))

        assert np.array_equal(answers(ThresholdCurator(curator(), drawn("c"))), whole)


class TestChoose:
    def test_without_noise_the_farthest_are_chosen_in_order(self) -> None:
        asked = ThresholdCurator(curator(), drawn("c"))
        believed = answers(asked).astype(float)
        believed[[7, 40, 99], 1] += [10, 30, 20]

        assert asked.choose(believed, among=EVERY, picks=3, share=1, step="s") == [40, 99, 7]
        assert asked.choose(believed, among=np.arange(100) != 40, picks=1, share=1, step="s") == [99]

    def test_each_choice_is_paid_for(self) -> None:
        private = curator(Budget.zcdp(1.0, 1e-6))

        ThresholdCurator(private, drawn("c")).choose(
            np.zeros((100, 3)), among=np.arange(100) < 50, picks=2, share=0.5, step="s"
        )

        events = [entry.event for entry in private.ledger.entries]
        assert all(isinstance(event, ExponentialEvent) for event in events)
        assert [event.candidates for event in events] == [50, 49]
        assert float(private.ledger.spent) == pytest.approx(0.5)

    def test_scores_differ_by_at_most_one_between_neighbours_exactly(self) -> None:
        believed = np.random.default_rng(3).uniform(0, 500, (100, 3))
        seen = []
        for n in (499, 500):
            private = curator(Budget.pure(1.0), EncodedTable(DOMAIN, tuple(c[:n] for c in table(500).codes)))
            private._source.noisy_max = lambda scores, scale: seen.append((scores, scale)) or 0
            ThresholdCurator(private, drawn("c")).choose(believed, among=EVERY, picks=1, share=1, step="s")

        (one, scale), (other, _) = seen
        assert 0 < np.abs(one - other).max() <= 1 <= scale / 2

    def test_what_is_measured_is_the_chosen_threshold_with_its_column(self) -> None:
        asked = ThresholdCurator(curator(), drawn("c", "d"))

        (found,) = asked.measure([5], share=1, step="s")

        assert found.clique == drawn("c", "d").clique(5)
        assert found.values[1].tolist() == answers(asked)[5, : found.values.shape[1]].tolist()

    def test_beliefs_of_another_shape_are_refused_and_cost_nothing(self) -> None:
        for shape in [(99, 3), (100, 2)]:
            private = curator(Budget.zcdp(1.0, 1e-6))

            with pytest.raises(ArgumentError, match="estimate"):
                ThresholdCurator(private, drawn("c")).choose(
                    np.zeros(shape), among=EVERY, picks=1, share=0.5, step="s"
                )

            assert private.ledger.entries == ()


class TestLimits:
    def test_no_threshold_can_have_the_name_of_a_column(self) -> None:
        domain = Domain.from_sizes({"x": 8, "threshold 3": 2}, ["x"])
        rows = EncodedTable(domain, (np.arange(8), np.arange(8) % 2))
        asked = random_thresholds(["x"], [], 5, np.random.default_rng(0))

        with pytest.raises(ArgumentError, match="rename the column"):
            ThresholdCurator(curator(rows=rows), asked)

    def test_too_many_answers_are_refused_before_they_are_counted(self) -> None:
        private = curator()
        private._engine = MemoryEngine(table(), limit_mb=0.5)

        with pytest.raises(ResourceError, match="n_thresholds"):
            ThresholdCurator(private, drawn("c", n=10_000))

    def test_its_repr_shows_no_count(self) -> None:
        assert repr(ThresholdCurator(curator(), drawn("c"))) == "ThresholdCurator(100 thresholds)"


SCORES = {
    "a": np.array([-0.5, 0.1, 0.3]),
    "b": np.array([-0.25, 0.5]),
    "c": np.array([-0.5, 0.0, 0.125, 0.5]),
}


def exact_trends(rows: EncodedTable) -> np.ndarray:
    """Return the trend of each pair, of scores in steps of 1 / 256."""
    rounded = {c: np.rint(s * 256) / 256 for c, s in SCORES.items()}
    return np.array([np.sum(rounded[a][rows.column(a)] * rounded[b][rows.column(b)]) for a, b in PAIRS])


class TestTrends:
    def test_without_privacy_they_are_exact_and_the_farthest_is_chosen(self) -> None:
        asked, exact = TrendCurator(curator_of_cells(), PAIRS, SCORES), exact_trends(FEW_ROWS)
        believed = exact + np.array([0.1, -0.2, 0.3])

        assert asked.choose(believed, among=[0, 1, 2], share=0.1, step="choose") == 2
        assert asked.choose(believed, among=[0, 1], share=0.1, step="choose") == 1
        for i, pair in enumerate(PAIRS):
            trend = asked.measure(i, share=0.1, step="measure")
            assert (trend.clique, trend.value, trend.sigma) == (pair, exact[i], 0)

    def test_one_record_changes_one_by_no_more_than_is_paid_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Every record that there may be, alone and beside others.
        cells = np.array(np.unravel_index(np.arange(24), CELLS.sizes)).astype(np.uint8)
        seen: list[tuple[np.ndarray, float]] = []
        monkeypatch.setattr(
            queries,
            "choose",
            lambda token, noise, scores, most: seen.append((scores.reveal_inside_privacy(), most)) or 0,
        )
        for record in cells.T:
            seen.clear()
            for with_it in (False, True):
                codes = [np.append(c, record[i : i + 1][:with_it]) for i, c in enumerate(FEW_ROWS.codes)]
                table = EncodedTable(CELLS, tuple(codes))
                curator = Curator(MemoryEngine(table), Ledger(Budget.pure(1.0)), SeededNoise(0))
                monkeypatch.setattr(curator, "_answer", lambda event, step, query, draw: draw(None))
                asked = TrendCurator(curator, PAIRS, SCORES)
                asked.choose(np.array([0.3, -1.7, 1e300]), among=[0, 1, 2], share=0.1, step="choose")
            (before, most), (after, again) = seen
            assert most == again == 128 * 128
            assert (np.abs(after - before) <= most).all()

    def test_noise_is_that_of_the_largest_product(self) -> None:
        curator = curator_of_cells(Budget.zcdp(1.0, 1e-6))
        trend = TrendCurator(curator, PAIRS, SCORES).measure(0, share=0.5, step="measure")

        (entry,) = curator.ledger.entries
        assert isinstance(entry.event, GaussianEvent)
        assert entry.event.l2_sensitivity_squared == (128 * 128) ** 2
        assert entry.cost == pytest.approx(0.5)
        assert trend.sigma == pytest.approx(0.25)
        assert abs(trend.value - exact_trends(FEW_ROWS)[0]) < 6 * trend.sigma

    def test_a_choice_is_one_exponential_mechanism_over_those_that_are_left(self) -> None:
        curator = curator_of_cells(Budget.zcdp(1.0, 1e-6))
        chosen = TrendCurator(curator, PAIRS, SCORES).choose(
            np.zeros(3), among=[0, 2], share=0.08, step="choose"
        )

        (entry,) = curator.ledger.entries
        assert isinstance(entry.event, ExponentialEvent)
        assert (entry.event.candidates, chosen in (0, 2)) == (2, True)

    @pytest.mark.parametrize(
        ("pairs", "scores", "words"),
        [
            ([], SCORES, "at least one"),
            ([("a", "b", "c")], SCORES, "two columns"),
            (PAIRS, {**SCORES, "a": np.zeros(2)}, "one score for every code"),
            (PAIRS, {**SCORES, "a": np.array([0.0, 0.0, 0.6])}, "between -0.5 and 0.5"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, pairs: list, scores: dict, words: str) -> None:
        with pytest.raises(ArgumentError, match=words):
            TrendCurator(curator_of_cells(), pairs, scores)

    @pytest.mark.parametrize(
        ("believed", "among"), [(np.zeros(2), [0]), (np.zeros(3), []), (np.array([0, 0, np.nan]), [0])]
    )
    def test_estimates_of_all_pairs_are_needed(self, believed: np.ndarray, among: list[int]) -> None:
        with pytest.raises(ArgumentError, match="finite estimate"):
            TrendCurator(curator_of_cells(), PAIRS, SCORES).choose(
                believed, among=among, share=0.1, step="choose"
            )

    def test_pairs_that_need_too_much_memory_are_refused_before_anything_is_spent(self) -> None:
        curator = Curator(MemoryEngine(FEW_ROWS, limit_mb=1e-6), Ledger(Budget.pure(1.0)), SeededNoise(0))

        with pytest.raises(ResourceError):
            TrendCurator(curator, PAIRS, SCORES)

    def test_pairs_that_were_counted_are_not_counted_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        curator, exact = curator_of_cells(), exact_trends(FEW_ROWS)
        curator.measure(PAIRS[:2], share=0.1, step="measure")
        counted: list[list] = []
        counts = MemoryEngine.counts
        monkeypatch.setattr(
            MemoryEngine, "counts", lambda e, some: counted.append(list(some)) or counts(e, some)
        )
        asked = TrendCurator(curator, PAIRS, SCORES)

        assert [asked.measure(i, share=0.1, step="measure").value for i in range(3)] == exact.tolist()
        assert counted == [PAIRS[2:]]
