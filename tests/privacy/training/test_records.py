"""The door to the records: what training is given, what it pays, and how it goes on after a break."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from recording import RecordingNoise

from syntabula.errors import ArgumentError, BudgetError, BudgetExceededError, ReleaseFileError, ResumeError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExactEvent, TrainingEvent
from syntabula.privacy.journal import Journal, MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise, SeededNoise
from syntabula.privacy.resume import open_ledger
from syntabula.privacy.training import records as records_door
from syntabula.privacy.training.grid import Grid, noise_scale
from syntabula.privacy.training.records import MOST_RECORDS, RecordCurator, TrainingSession
from syntabula.privacy.units import Unit, Units

torch = pytest.importorskip("torch", reason="the neural extra is not installed")

DOMAIN = Domain.from_sizes({"a": 5, "b": 3, "c": 7})
N = 400
CODES = np.random.default_rng(4).integers(0, DOMAIN.sizes, (N, 3))
BUDGET = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(1e-6)


def curator(
    ledger: Ledger | None = None, noise: object = None, codes: np.ndarray = CODES
) -> tuple[RecordCurator, Ledger]:
    ledger = Ledger(BUDGET) if ledger is None else ledger
    table = EncodedTable(DOMAIN, tuple(codes[:, j].astype(np.uint8) for j in range(3)))
    return RecordCurator(Curator(MemoryEngine(table), ledger, noise or SeededNoise(3))), ledger


class Network:
    """One layer with a bias; the loss is the squared distance of codes to what it makes of them."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.parameters = {"w": torch.randn(3, 3, generator=generator), "b": torch.zeros(3)}

    def losses(self, records, random):
        x = records.float() / 5
        return (x @ self.parameters["w"] + self.parameters["b"] - x).square().sum(1)


def opened(
    records: RecordCurator, network: Network | None = None, **changed: object
) -> tuple[TrainingSession, Network]:
    network = network or Network()
    usual = {"rate": 0.1, "steps": 6, "clip": 0.5, "total": 400.0, "share": Fraction(1, 2), "step": "train"}
    return records.training(network.losses, network.parameters, **(usual | changed)), network


def exact_mean(network: Network, codes: np.ndarray, clip: float, total: float) -> dict[str, torch.Tensor]:
    """Return the sum of clipped gradients over `total`, one record at a time."""
    found = {name: torch.zeros_like(p) for name, p in network.parameters.items()}
    leaves = {name: p.clone().requires_grad_() for name, p in network.parameters.items()}
    for row in codes:
        x = torch.as_tensor(row[None]).float() / 5
        loss = (x @ leaves["w"] + leaves["b"] - x).square().sum()
        parts = torch.autograd.grad(loss, list(leaves.values()))
        length = float(torch.cat([p.flatten() for p in parts]).norm())
        for name, part in zip(found, parts, strict=True):
            found[name] += part * min(1.0, clip / max(length, 1e-30)) / total
    return found


class TestGradient:
    def test_is_the_clipped_mean_but_for_the_noise_that_was_paid_for(self) -> None:
        records, _ = curator(Ledger(Budget(9.0, 1e-3).with_failure_delta(5e-4)))
        session, network = opened(records, rate=1.0, steps=1, share=1)
        event = session._token.event

        found = session.gradient()

        expected = exact_mean(network, CODES, 0.5, 400.0)
        noise = event.deviation / 400
        for name in expected:
            assert float((found[name] - expected[name]).abs().max()) < 8 * noise
            assert found[name].dtype == torch.float32

    @pytest.mark.thorough
    def test_has_noise_of_the_stated_deviation_on_every_parameter(self) -> None:
        records, _ = curator()
        session, network = opened(records, steps=2000, share=1)

        def none(codes, random):
            return network.losses(codes, random) * 0

        # The sum of a step, of which the mean over 40 records is given.
        steps = [torch.cat([g.flatten() for g in session.gradient(none).values()]) for _ in range(2000)]
        sums = 40 * torch.stack(steps).numpy()

        # 24,000 numbers: their standard deviation is off by 0.5 % or so. Rounding is counted too, by 0.2 %.
        assert np.std(sums) == pytest.approx(1.002 * session._token.event.deviation, rel=0.03)

    def test_takes_each_record_at_the_rate(self) -> None:
        calls: list[int] = []

        class Counting(SeededNoise):
            def sampled_records(self, n_records, rate):
                found = super().sampled_records(n_records, rate)
                calls.append(len(found))
                return found

        records, _ = curator(noise=Counting(1))
        session, _ = opened(records, steps=50)
        for _ in range(50):
            session.gradient()

        # Mean 40, standard deviation of the mean 0.85.
        assert 35 < np.mean(calls) < 45
        assert np.std(calls) > 2

    def test_may_be_of_another_loss_at_each_step(self) -> None:
        records, _ = curator()
        session, network = opened(records)

        one = session.gradient(lambda codes, random: network.losses(codes, random) * 0)

        assert set(one) == {"w", "b"}
        assert session.steps_left == 5

    def test_draws_of_a_loss_differ_from_step_to_step_and_are_not_known(self) -> None:
        seen = []

        class Drawing(Network):
            def losses(self, records, random):
                seen.append(float(torch.rand((), generator=random)))
                return super().losses(records, random)

        records, _ = curator(noise=SecureNoise())
        session, _ = opened(records, Drawing())
        before = len(seen)
        session.gradient()
        session.gradient()

        assert len(set(seen[before:])) == 2


class TestSensitivity:
    """Exact: what one record moves the input of the noise by, and the scale that answers it."""

    def test_is_at_most_what_is_charged_and_reached(self) -> None:
        moved = []
        for left_out in [None, *range(0, N, 13)]:
            noise = RecordingNoise(SeededNoise(1))
            codes = CODES if left_out is None else np.delete(CODES, left_out, axis=0)
            records, _ = curator(noise=noise, codes=codes)
            session, _ = opened(records, rate=1.0, steps=1)
            session.gradient()
            moved.append(noise.calls[-1])
        event = session._token.event
        grid = Grid(event.clip, event.cells)
        assert isinstance(event, TrainingEvent)

        squares = [
            float(np.square((moved[0].exact - other.exact).astype(float)).sum()) for other in moved[1:]
        ]

        assert max(squares) <= grid.sensitivity_squared
        assert max(squares) >= 0.99 * grid.steps**2
        assert {call.scale for call in moved} == {noise_scale(event)}


class TestPayment:
    def test_is_made_once_when_training_begins(self) -> None:
        records, ledger = curator()

        session, _ = opened(records)
        spent = ledger.spent
        for _ in range(6):
            session.gradient()

        assert len(ledger.entries) == 1
        assert ledger.spent == spent
        assert 0.4999 < float(spent / BUDGET.total) <= 0.5
        assert ledger.failure_spent <= BUDGET.failure_delta

    def test_is_for_so_many_steps_and_no_more(self) -> None:
        records, _ = curator()
        session, _ = opened(records, steps=2)
        session.gradient()
        session.gradient()

        with pytest.raises(BudgetError, match="all 2 steps"):
            session.gradient()
        # The mechanism counts too, whatever a session believes.
        session._done = 0
        with pytest.raises(BudgetError, match="all 2 steps"):
            session.gradient()

    def test_is_refused_where_the_budget_is_spent(self) -> None:
        records, _ = curator()
        opened(records, share=1, failure=5e-7)

        with pytest.raises(BudgetExceededError):
            opened(records, failure=4e-7)

    def test_is_refused_by_budgets_without_such_noise(self) -> None:
        for budget, match in [
            (Budget.zcdp(0.5, 1e-5), "zero-concentrated"),
            (Budget.pure(1.0), "pure"),
            (Budget(1.0, 1e-5), "part of delta"),
        ]:
            records, ledger = curator(Ledger(budget))

            with pytest.raises(BudgetError, match=match):
                opened(records)
            assert not ledger.entries

    def test_is_not_made_for_what_is_outside_its_range(self) -> None:
        for changed, match in [
            ({"rate": 0.0}, "rate"),
            ({"rate": 1.5}, "rate"),
            ({"steps": 0}, "steps"),
            ({"clip": 0.0}, "clip"),
            ({"total": -3.0}, "total"),
            ({"total": 2.0 * MOST_RECORDS, "rate": 1.0}, "lower the rate"),
            ({"share": 0}, "share"),
        ]:
            records, ledger = curator()

            with pytest.raises(ArgumentError, match=match):
                opened(records, **changed)
            assert not ledger.entries

    def test_is_not_made_for_a_loss_that_looks_at_other_records(self) -> None:
        class Mixing(Network):
            def losses(self, records, random):
                found = super().losses(records, random)
                return found - found.mean()

        records, ledger = curator()

        with pytest.raises(ArgumentError, match="other records"):
            opened(records, Mixing())
        assert not ledger.entries

    def test_is_not_made_with_a_noise_source_that_cannot_draw_it(self) -> None:
        class Counting(RecordingNoise):
            gaussian_vector = None

        records, ledger = curator(noise=Counting(SeededNoise(1)))

        with pytest.raises(ArgumentError, match="TrainingNoise"):
            opened(records)
        assert not ledger.entries


class TestWithoutPrivacy:
    def test_there_is_no_training_with_noise(self) -> None:
        records, ledger = curator(Ledger(NO_PRIVACY))

        with pytest.raises(BudgetError, match="use `exact`"):
            opened(records)
        assert not ledger.entries


ROWS = EncodedTable(
    Domain(("a", "b"), (3, 2)), (np.array([0, 2, 1], np.uint8), np.array([1, 0, 1], np.uint8))
)


def doors(budget: Budget, journal: MemoryJournal | None = None) -> Doors:
    return Doors(Curator(MemoryEngine(ROWS), Ledger(budget, journal), SeededNoise(0)))


class TestExact:
    def test_a_budget_keeps_it_shut_and_is_not_spent(self) -> None:
        for budget in [Budget(1.0, 1e-6), Budget.pure(1.0), Budget.zcdp(0.5, 1e-6)]:
            opened = doors(budget)

            with pytest.raises(BudgetError, match="only where privacy is switched off"):
                opened.records.exact(step="train")

            assert opened.tables.ledger.entries == ()

    def test_without_privacy_all_records_come_and_the_ledger_says_so(self) -> None:
        opened = doors(NO_PRIVACY)

        records = opened.records.exact(step="train")

        assert repr(records) == "OpenRecords()"
        assert [c.tolist() for c in records.table.codes] == [[0, 2, 1], [1, 0, 1]]
        assert [(e.step, e.event) for e in opened.tables.ledger.entries] == [("train", ExactEvent("records"))]

    def test_merged_codes_come_merged(self) -> None:
        recoding = Recoding(ROWS.domain, {"a": np.array([0, 1, 1])}, {"a": np.array([1.0, 0.5, 0.5])})

        records = doors(NO_PRIVACY).recoded(recoding).records.exact(step="train")

        assert records.table.column("a").tolist() == [0, 1, 1]

    def test_a_journal_holds_that_they_were_read_and_none_of_them(self) -> None:
        journal = MemoryJournal()

        doors(NO_PRIVACY, journal).records.exact(step="train")

        assert [(r.step, r.outcome) for r in journal.records] == [("train", None)]


class TestRecords:
    def test_are_not_shown_copied_or_stored_by_a_session(self) -> None:
        records, _ = curator()
        session, _ = opened(records)

        assert repr(session) == "TrainingSession(0 of 6 steps)"
        assert repr(records) == "RecordCurator()"
        for attempt in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError):
                attempt(session)

    def test_of_an_empty_table_are_trained_on_like_any(self) -> None:
        records, _ = curator(codes=CODES[:0])
        session, _ = opened(records)

        assert all(torch.isfinite(g).all() for g in session.gradient().values())


FACTS = {"method": "a training"}


def train(
    journal: Journal, stop_at: int | None = None, every: int = 2, resume: bool = False
) -> np.ndarray | None:
    """Train for six steps with checkpoints, or break off at a step; return the parameters."""
    ledger = open_ledger(BUDGET, journal, FACTS, resume=resume)
    records, _ = curator(ledger)
    session, network = opened(records)
    w, b = network.parameters["w"], network.parameters["b"]
    if session.resumed is not None:
        values = torch.as_tensor(session.resumed.values)
        w.copy_(values[:9].reshape(3, 3))
        b.copy_(values[9:])
    while session.steps_left:
        if 6 - session.steps_left == stop_at:
            return None
        for p, g in zip((w, b), session.gradient().values(), strict=True):
            p -= 0.1 * g
        if session.steps_left % every == 0:
            session.checkpoint(np.concatenate([w.numpy().ravel(), b.numpy()]))
    assert 0.4999 < float(ledger.spent / BUDGET.total) <= 0.5
    return np.concatenate([w.numpy().ravel(), b.numpy()])


class TestResume:
    @pytest.mark.parametrize("stop_at", [0, 1, 2, 3, 5])
    def test_goes_on_from_the_last_checkpoint_and_pays_nothing_more(
        self, tmp_path: Path, stop_at: int
    ) -> None:
        with Journal(tmp_path / "whole") as journal:
            whole = train(journal)
        with Journal(tmp_path / "broken") as journal:
            assert train(journal, stop_at) is None
        with Journal(tmp_path / "broken") as journal:
            resumed = train(journal, resume=True)
            assert len(journal.records) == 1

        # The same noise for a step of the same number, from a seeded source.
        assert np.array_equal(whole, resumed)

    def test_after_all_steps_asks_for_none(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "journal") as journal:
            whole = train(journal)
        with Journal(tmp_path / "journal") as journal:
            ledger = open_ledger(BUDGET, journal, FACTS, resume=True)
            session, _ = opened(curator(ledger)[0])

        assert session.steps_left == 0
        assert np.array_equal(session.resumed.values, whole)
        assert ledger.replayed == 1
        with pytest.raises(BudgetError, match="are done"):
            session.gradient()

    def test_with_other_steps_or_parameters_is_refused(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "journal") as journal:
            train(journal, 3)
        for changed in ({"steps": 7}, {"rate": 0.2}, {"total": 500.0}):
            with Journal(tmp_path / "journal") as journal:
                records, _ = curator(open_ledger(BUDGET, journal, FACTS, resume=True))
                with pytest.raises(ResumeError):
                    opened(records, **changed)

    def test_needs_a_checkpoint_after_the_last_step_before_a_release(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "journal") as journal:
            ledger = open_ledger(BUDGET, journal, FACTS, resume=False)
            session, _ = opened(curator(ledger)[0])
            session.gradient()
            session.checkpoint(np.zeros(12))
            ledger.require_all_replayed()
            session.gradient()

            with pytest.raises(BudgetError, match="after its last checkpoint"):
                ledger.require_all_replayed()

    def test_without_a_journal_writes_nothing(self) -> None:
        records, _ = curator()
        session, _ = opened(records)
        session.gradient()

        session.checkpoint(np.zeros(12))

    def test_takes_no_checkpoint_without_a_step_or_with_other_than_numbers(self, tmp_path: Path) -> None:
        with Journal(tmp_path / "journal") as journal:
            session, _ = opened(curator(open_ledger(BUDGET, journal, FACTS, resume=False))[0])
            with pytest.raises(ArgumentError, match="one step or more"):
                session.checkpoint(np.zeros(12))
            session.gradient()
            with pytest.raises(ArgumentError, match="finite"):
                session.checkpoint(np.full(12, np.nan))

    def test_of_a_damaged_checkpoint_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        with Journal(path) as journal:
            train(journal, 3)
        lines = path.read_bytes().split(b"\n")
        place = next(i for i, line in enumerate(lines) if line.startswith(b'{"checkpoint"'))
        lines[place] = lines[place].replace(b'"steps": 2', b'"steps": 1')
        path.write_bytes(b"\n".join(lines))

        with pytest.raises(ReleaseFileError, match="damaged"):
            Journal(path)


class TestUnits:
    """Persons with up to three rows each, of which a step takes one."""

    UNITS = Units.of(np.arange(N) // 3, [f"person {i}" for i in range(N // 3 + 1)], bytes(32))

    def opened(self, units: Units | None, noise: object = None, **options: object) -> TrainingSession:
        ledger = Ledger(BUDGET, unit=Unit("person", 3))
        table = EncodedTable(DOMAIN, tuple(CODES[:, j].astype(np.uint8) for j in range(3)))
        door = RecordCurator(Curator(MemoryEngine(table), ledger, noise or SeededNoise(3), units))
        return opened(door, **options)[0]

    def test_a_step_takes_at_most_one_row_of_a_person_and_each_row_in_one_of_three(self, monkeypatch) -> None:
        taken: list[np.ndarray] = []
        right = records_door.clipped_sum

        def watched(losses, parameters, rows, random, **options):
            taken.append(rows.numpy().copy())
            return right(losses, parameters, rows, random, **options)

        monkeypatch.setattr(records_door, "clipped_sum", watched)
        slots = self.UNITS.slots(3)
        # At the largest rate a step takes all rows of its slot.
        session = self.opened(self.UNITS, rate=1 / 3, steps=3)
        assert session._token.event.rate == 1.0
        for _ in range(3):
            session.gradient()

        for step, rows in enumerate(taken):
            assert np.array_equal(rows, CODES[slots == step])
            assert np.unique(self.UNITS.numbers[slots == step]).size == rows.shape[0]
        assert sum(len(rows) for rows in taken) == N

    def test_a_person_is_taken_as_often_as_is_paid_for(self) -> None:
        calls: list[tuple[int, float]] = []

        class Asking(SeededNoise):
            def sampled_records(self, n_records, rate):
                calls.append((n_records, rate))
                return super().sampled_records(n_records, rate)

        session = self.opened(self.UNITS, Asking(1), rate=0.1)
        for _ in range(6):
            session.gradient()

        assert {rate for _, rate in calls} == {session._token.event.rate} == {0.1 * 3}
        assert sum(n for n, _ in calls[:3]) == N

    def test_a_higher_rate_than_one_row_of_each_person_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="one of a unit's 3 rows"):
            self.opened(self.UNITS, rate=0.4)

    def test_a_table_that_does_not_say_whom_rows_are_about_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="whom its rows are about"):
            self.opened(None)
