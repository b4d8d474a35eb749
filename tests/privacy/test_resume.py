from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import (
    ArgumentError,
    BudgetError,
    BudgetExceededError,
    ReleaseFileError,
    ResumeError,
)
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.events import (
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.mechanisms import Node, leaves_of
from syntabula.privacy.noise import SecureNoise, SeededNoise
from syntabula.privacy.resume import answer, fingerprint, open_ledger
from syntabula.privacy.units import RECORD, Unit

BUDGET = Budget.zcdp(1.0, 1e-5)
EVENT = GaussianEvent(4.0, 1, 1)
FACTS = {"method": "mst"}


def ask(ledger: Ledger, value: int = 1, *, step: str = "x", query: object = "q", event=EVENT) -> list[int]:
    """Ask for an answer that would be drawn as this value."""

    def draw(token: Token) -> np.ndarray:
        token.consume()
        return np.array([value])

    return answer(ledger, SecureNoise(), event, step=step, query=query, draw=draw).tolist()


def broken_off(answers: int, *, unanswered: bool = False) -> MemoryJournal:
    journal = MemoryJournal()
    ledger = open_ledger(BUDGET, journal, FACTS, resume=False)
    for value in range(answers):
        ask(ledger, value)
    if unanswered:
        ledger.spend(EVENT, step="x", query=fingerprint("q"))
    return journal


class TestRecordedAnswer:
    def test_one_of_another_shape_is_refused(self) -> None:
        journal = MemoryJournal()
        ledger = open_ledger(BUDGET, journal, FACTS, resume=False)
        token = ledger.spend(EVENT, step="x", query=fingerprint("q"))
        journal.record_outcome(token.number, np.array([[5]]))

        with pytest.raises(ReleaseFileError, match="does not fit the query"):
            ask(open_ledger(BUDGET, journal, FACTS, resume=True))


class TestAnswer:
    def test_recorded_ones_come_back_in_order_and_are_not_drawn_or_charged_again(self) -> None:
        journal = broken_off(3)
        ledger = open_ledger(BUDGET, journal, FACTS, resume=True)
        assert ledger.spent == 0

        assert [ask(ledger, 99) for _ in range(4)] == [[0], [1], [2], [99]]

        assert ledger.replayed == 3
        assert len(journal.records) == 4
        assert ledger.spent == Ledger(BUDGET, journal).spent == 4 * Fraction(1, 32)
        ledger.require_all_replayed()

    def test_a_spend_without_one_is_drawn_once_and_not_charged_again(self) -> None:
        journal = broken_off(1, unanswered=True)
        ledger = open_ledger(BUDGET, journal, FACTS, resume=True)

        assert [ask(ledger, 99), ask(ledger, 99)] == [[0], [99]]

        assert ledger.replayed == 1
        assert [record.outcome.tolist() for record in journal.records] == [[0], [99]]
        again = open_ledger(BUDGET, journal, FACTS, resume=True)
        assert [ask(again, 7), ask(again, 7)] == [[0], [99]]

    def test_a_replayed_token_pays_for_no_draw(self) -> None:
        ledger = open_ledger(BUDGET, broken_off(1), FACTS, resume=True)

        token = ledger.spend(EVENT, step="x", query=fingerprint("q"))

        assert token.outcome.tolist() == [0]
        for _ in range(2):
            with pytest.raises(BudgetError, match="has an answer"):
                token.consume()
        with pytest.raises(ArgumentError, match="already has an outcome"):
            ledger.record_outcome(token, np.array([5]))

    def test_another_one_is_refused_and_changes_nothing(self) -> None:
        for other in [{"step": "y"}, {"query": "r"}, {"event": GaussianEvent(4.0, 1, 4)}]:
            journal = broken_off(2)
            ledger = open_ledger(BUDGET, journal, FACTS, resume=True)
            ask(ledger)

            with pytest.raises(ResumeError, match=r"spend 2 is for step 'x'.*nothing was drawn"):
                ask(ledger, 99, **other)

            assert (len(journal.records), len(ledger.entries)) == (2, 1)
            with pytest.raises(ResumeError, match="1 of its spends"):
                ledger.require_all_replayed()
            assert ask(ledger, 99) == [1]

    def test_a_failed_write_of_the_outcome_hands_nothing_on(self) -> None:
        class Full(MemoryJournal):
            def record_outcome(self, number: int, values: np.ndarray, **room: object) -> None:
                raise OSError(28, "No space left on device")

        with pytest.raises(OSError, match="space"):
            ask(Ledger(BUDGET, Full()))


class TestDamagedAnswers:
    """What a journal holds is refused where no draw can have come to it, before anything is made of it."""

    DAMAGED = (
        (GaussianEvent(4.0, 1, 2), np.array([1.0, 2.0])),
        (GaussianEvent(4.0, 1, 2), np.array([1])),
        (LaplaceEvent(4.0, 1, 2), np.array([1, 2], dtype=np.uint8)),
        (ExponentialEvent(0.01, 3), np.array([3])),
        (ExponentialEvent(0.01, 3), np.array([-1])),
        (ExponentialEvent(0.01, 3), np.array(1)),
        (TreeEvent(600.0), np.array([1, 0, 2])),
        (TreeEvent(600.0), np.array([[1, 0, 0]])),
        (ThresholdEvent(40.0, 300.0), np.array([1, 2])),
        (ThresholdEvent(40.0, 300.0), np.zeros((2, 2), dtype=np.uint8)),
        (ExactEvent("counts"), np.array([0.5])),
    )

    def test_type_length_and_range_must_be_those_of_the_event(self) -> None:
        for event, values in self.DAMAGED:
            budget = (
                NO_PRIVACY if isinstance(event, ExactEvent) else BUDGET.with_failure_delta(Fraction(1, 10**6))
            )
            journal = MemoryJournal()
            ledger = open_ledger(budget, journal, FACTS, resume=False)
            journal.record_outcome(ledger.spend(event, step="x", query=fingerprint("q")).number, values)

            with pytest.raises(ReleaseFileError, match=r"journal is damaged.*step 'x'"):
                ask(open_ledger(budget, journal, FACTS, resume=True), event=event)

    @pytest.mark.parametrize("decisions", [[], [1, 0], [0, 0], [1, 0, 0, 0]])
    def test_a_tree_has_as_many_decisions_as_it_needs(self, decisions: list[int]) -> None:
        def ask_of(ledger: Ledger) -> list[Node]:
            curator = ColumnCurator(np.arange(9), ledger, SeededNoise(0))
            return curator.tree(Node(0, 8), threshold=500.0, most_leaves=8, share=1, step="t")

        journal = MemoryJournal()
        ask_of(open_ledger(BUDGET, journal, FACTS, resume=False))
        journal._records[0] = replace(journal._records[0], outcome=np.array(decisions, dtype=np.int64))

        with pytest.raises(ReleaseFileError, match="journal is damaged"):
            ask_of(open_ledger(BUDGET, journal, FACTS, resume=True))

    @pytest.mark.parametrize(
        "text", ["", "{}x", "[1]", '[["a", "b"]]', '[["a", 0.5]]', "[" * 10_000, "[[1, 2]]"]
    )
    def test_labels_are_pairs_of_a_text_and_a_count(self, text: str) -> None:
        def ask_of(ledger: Ledger) -> dict:
            curator = LabelCurator({"a": 900}, ledger, SeededNoise(0))
            return curator.frequent(share=1, delta=Fraction(1, 10**6), step="s")

        budget = BUDGET.with_failure_delta(Fraction(1, 10**6))
        journal = MemoryJournal()
        ask_of(open_ledger(budget, journal, FACTS, resume=False))
        written = np.frombuffer(text.encode(), dtype=np.uint8)
        journal._records[0] = replace(journal._records[0], outcome=written)

        with pytest.raises(ReleaseFileError, match="journal is damaged"):
            ask_of(open_ledger(budget, journal, FACTS, resume=True))


class TestOpenLedger:
    def test_a_journal_without_a_run_begins_one(self) -> None:
        journal = MemoryJournal()

        open_ledger(BUDGET, journal, FACTS, resume=True)

        assert [(run.facts, run.first) for run in journal.runs] == [(FACTS, 0)]

    def test_earlier_runs_count_and_only_the_last_is_gone_on_with(self) -> None:
        journal = broken_off(2)
        ask(open_ledger(BUDGET, journal, FACTS, resume=False), 50)

        ledger = open_ledger(BUDGET, journal, FACTS, resume=True)

        assert ledger.spent == Fraction(2, 32)
        assert ledger.allowance == Fraction(30, 32)
        assert ask(ledger, 99) == [50]
        assert len(journal.runs) == 2

    def test_what_differs_is_named(self) -> None:
        for facts, match in (
            ({"method": "aim"}, "its method is mst, but here it is aim"),
            (FACTS | {"seed": "1"}, "its seed is not stated, but here it is 1"),
            ({}, "its method is mst, but here it is not stated"),
        ):
            with pytest.raises(ResumeError, match=match):
                open_ledger(BUDGET, broken_off(1), facts, resume=True)

    def test_of_fingerprints_the_names_are_said_and_words_go_first(self) -> None:
        journal = MemoryJournal()
        first = FACTS | {"option a": fingerprint(1), "option b": fingerprint(2)}
        open_ledger(BUDGET, journal, first, resume=False)

        for changes, match in (
            ({"option a": fingerprint(3)}, "another option a; nothing"),
            (
                {"option a": fingerprint(3), "option b": fingerprint(3)},
                "another option a, another option b; n",
            ),
            ({"option a": fingerprint(3), "method": "aim"}, "its method is mst, but here it is aim; nothing"),
            ({"method": fingerprint(1)}, "its method is mst, but here it is another one; nothing"),
        ):
            with pytest.raises(ResumeError, match=match):
                open_ledger(BUDGET, journal, first | changes, resume=True)

    def test_spends_of_an_unknown_run_are_not_replayed(self) -> None:
        journal = MemoryJournal()
        journal.record_spend("x", EVENT)
        with pytest.raises(ResumeError, match="did not record"):
            open_ledger(BUDGET, journal, FACTS, resume=True)

    def test_a_refusal_begins_no_run(self) -> None:
        journal = MemoryJournal()
        journal.record_spend("x", GaussianEvent(1.0, Fraction(199, 100), 1))
        with pytest.raises(BudgetExceededError):
            open_ledger(BUDGET, journal, FACTS, resume=False)
        assert journal.runs == ()


class TestEveryKindOfAnswer:
    """Each curator makes of a recorded answer what it made of the drawn one, whatever its table holds by then."""

    def both(self, ask_of) -> None:
        journal = MemoryJournal()
        budget = Budget.zcdp(1.0, 1e-5).with_failure_delta(Fraction(1, 10**6))
        first = ask_of(open_ledger(budget, journal, FACTS, resume=False), SecureNoise(), full=True)
        ledger = open_ledger(budget, journal, FACTS, resume=True)

        second = ask_of(ledger, SecureNoise(), full=False)

        assert first == second
        assert ledger.replayed == len(journal.records) > 0

    def test_labels(self) -> None:
        labels = {"a": 900, "\u00e9 \"'\n": 800, "\U0001f600": 700, None: 600, "rare": 1}

        def ask_of(ledger, noise, full):
            curator = LabelCurator(labels if full else {}, ledger, noise)
            return list(curator.frequent(share=1, delta=Fraction(1, 10**6), step="s").items())

        self.both(ask_of)

    def test_trees_quantiles_and_sums(self) -> None:
        points = np.random.default_rng(0).normal(50, 5, 3000)

        def ask_of(ledger, noise, full):
            curator = ColumnCurator(points if full else points[:0], ledger, noise)
            share = Fraction(1, 4)
            leaves = curator.tree(Node(0.0, 100.0), threshold=20.0, most_leaves=20, share=share, step="t")
            edges = [0.0, 25.0, 50.0, 75.0, 100.0]
            chosen = curator.quantiles(edges, [Fraction(1, 3), Fraction(1, 2)], share=share, step="q")
            sums = curator.sums(edges, power=2, of="cell", share=share, step="s").values.tolist()
            counts = curator.histogram(edges, share=share, step="h", count_missing=True).values.tolist()
            return leaves, chosen, sums, counts

        self.both(ask_of)

    def test_a_tree_of_other_decisions_is_refused(self) -> None:
        root = Node(0, 8)
        assert len(leaves_of(root, np.array([1, 0, 0]), most_leaves=8)) == 2
        for decisions in ([1, 0], [0, 0]):
            with pytest.raises(ArgumentError, match="decisions than the tree needs"):
                leaves_of(root, np.array(decisions), most_leaves=8)


class TestSeededStreams:
    def test_leaving_out_draws_does_not_change_later_ones(self) -> None:
        counts = np.zeros(50, dtype=np.int64)
        whole, resumed = SeededNoise(3), SeededNoise(3)
        drawn = []
        for _ in range(3):
            whole.begin_draw()
            drawn.append(whole.discrete_gaussian(counts, 9.0).tolist())
        resumed.begin_draw()
        resumed.begin_draw()
        resumed.discrete_laplace(counts, 2.0)
        resumed.begin_draw()

        assert resumed.discrete_gaussian(counts, 9.0).tolist() == drawn[2]
        assert len({tuple(d) for d in drawn}) == 3


def test_fingerprints_tell_queries_apart() -> None:
    queries = [None, [], [("a",)], [("a", "b")], [("a",), ("b",)], [1, 2], [1.0, 2.5], [12], Fraction(1, 3)]
    assert len({fingerprint(q) for q in queries}) == len(queries)
    assert fingerprint([("a",)]) == fingerprint([["a"]])


def test_fingerprints_tell_long_arrays_apart() -> None:
    arrays = [np.zeros(5000), np.zeros(5000, np.int64), np.zeros((2, 2500)), np.zeros(5001)]
    arrays += [np.where(np.arange(5000) == 2500, 1.0, 0.0)]
    assert len({fingerprint([a]) for a in arrays}) == len(arrays)
    assert fingerprint([np.arange(9.0)]) == fingerprint([np.arange(18.0)[::2] / 2])
    assert fingerprint([np.int64(3)]) == fingerprint([3])


def test_a_run_with_a_budget_does_not_share_the_journal_of_one_without_privacy() -> None:
    journal = MemoryJournal()
    ask(open_ledger(NO_PRIVACY, journal, FACTS, resume=False), event=ExactEvent("counts"))

    with pytest.raises(BudgetError, match="exact answers of an earlier run without privacy"):
        open_ledger(BUDGET, journal, FACTS, resume=False)


class TestEarlierRunsOfAnotherPromise:
    """A total adds up only what protects the same units by secret noise."""

    PERSONS = Unit("person", 5)

    def facts_of(self, unit: Unit = RECORD, noise: str = SecureNoise.name) -> dict[str, str]:
        stated = {"unit": unit.fact} if unit.fact else {}
        return FACTS | {"noise": noise} | stated

    def after(
        self, unit: Unit = RECORD, noise: str = SecureNoise.name, *, asked: bool = True
    ) -> MemoryJournal:
        journal = MemoryJournal()
        ledger = open_ledger(BUDGET, journal, self.facts_of(unit, noise), resume=False, unit=unit)
        if asked:
            ask(ledger)
        return journal

    def test_one_of_another_unit_is_refused(self) -> None:
        for before, unit, match in (
            (RECORD, self.PERSONS, "protects one record, where this one protects all rows with one 'person'"),
            (self.PERSONS, RECORD, "protects all rows with one 'person', where this one protects one record"),
            (self.PERSONS, Unit("firm, at most 2 rows", 5), "all rows with one 'person', where .* 'firm, at"),
        ):
            for resume in (False, True):
                journal = self.after(before)
                journal.record_run(self.facts_of(unit))
                with pytest.raises(BudgetError, match=match):
                    open_ledger(BUDGET, journal, self.facts_of(unit), resume=resume, unit=unit)

    def test_other_numbers_of_rows_of_the_same_unit_add_up(self) -> None:
        fewer = Unit("person", 2)
        ledger = open_ledger(BUDGET, self.after(self.PERSONS), self.facts_of(fewer), resume=False, unit=fewer)
        assert ledger.spent > 0

    def test_one_with_seeded_noise_is_refused_where_this_one_is_private(self) -> None:
        journal = self.after(noise=SeededNoise.name)
        open_ledger(BUDGET, journal, self.facts_of(noise=SeededNoise.name), resume=False)

        with pytest.raises(BudgetError, match="seeded noise, which protects nobody"):
            open_ledger(BUDGET, journal, self.facts_of(), resume=False)

    def test_one_that_asked_nothing_promised_nothing(self) -> None:
        for journal in (
            self.after(self.PERSONS, asked=False),
            self.after(noise=SeededNoise.name, asked=False),
        ):
            ask(open_ledger(BUDGET, journal, self.facts_of(), resume=False))
            assert open_ledger(BUDGET, journal, self.facts_of(), resume=True).replayed == 0

    def test_spends_of_an_unknown_run_protect_a_record(self) -> None:
        journal = MemoryJournal()
        journal.record_spend("x", EVENT)
        open_ledger(BUDGET, journal, self.facts_of(), resume=False)

        with pytest.raises(BudgetError, match="protects one record"):
            open_ledger(BUDGET, journal, self.facts_of(self.PERSONS), resume=False, unit=self.PERSONS)
