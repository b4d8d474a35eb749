"""Record and replay for everything that raw columns go through: domains, bins, values within bins.

As in test_record_and_replay: exact, no statistics. A draw belongs to the spend before it. A tree is one spend
and one draw per level; a record is in one node of a level.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from half_noise import HalfNoise
from recording import Call, RecordingNoise, ReplayingNoise
from small_tables import neighbours, table

import syntabula as st
from syntabula.bins.uniform import UniformBins
from syntabula.errors import PrivacyWarning, PrivateDomainError, SyntabulaWarning
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.mechanisms import STEPS
from syntabula.privacy.noise import SeededNoise

# A loose budget, so that something is found in some dozens of records.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PrivacyWarning)
    LOOSE = st.Budget.zcdp(400.0, 1e-5)
    GRID, PURE_GRID = st.Budget(epsilon=60.0, delta=1e-4), st.Budget.pure(200.0)
PURE = st.Budget.pure(2.0)
DISCRETIZERS = ["uniform", "quantile", "kmeans", "privtree"]


class ReplayingLabels(ReplayingNoise):
    """Also answers where labels that a single record, or person, held are gone: their answers go too."""

    rows = 1

    def _answer(self, kind: str, exact: np.ndarray, scale: float):
        expected = self.script[len(self.calls)] if len(self.calls) < len(self.script) else None
        if expected is None or kind != "discrete_gaussian" or expected.exact.shape == exact.shape:
            return super()._answer(kind, exact, scale)
        fewer = expected.exact.size - exact.size
        assert 0 < fewer <= self.rows, "more labels are gone than one may hold"
        # Public labels come first, and are never gone.
        may_be_gone = np.flatnonzero((expected.exact <= self.rows) & (expected.exact > 0))[::-1]
        for gone in itertools.combinations(may_be_gone, fewer):
            left = np.delete(expected.exact, gone)
            if (
                left.sum() - exact.sum() + expected.exact[[*gone]].sum() <= self.rows
                and (left >= exact).all()
            ):
                return np.delete(expected.answer, gone)
        raise AssertionError("a label is gone that others held too")


class ReplayingPersons(ReplayingLabels):
    """Also answers where up to three labels that a single person held are gone."""

    rows = 3


@dataclass
class Drawn:
    """One spend and the draws that it paid for."""

    step: str
    event: Event
    query: str
    calls: list[Call] = field(default_factory=list)


class Run:
    """One fit with everything that it drew, spent and released, or the error that it ended with."""

    def __init__(
        self, frame, schema, noise, folder: Path, *, budget, method: str = "independent", **options
    ) -> None:
        self.spends: list[Drawn] = []
        starts: list[int] = []
        original = Ledger.spend

        def spend(ledger, event, *, step, query):
            self.spends.append(Drawn(step, event, query))
            starts.append(len(noise.calls))
            return original(ledger, event, step=step, query=query)

        self.released: tuple[bytes, str, str] | None = None
        self.error = ""
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr(Ledger, "spend", spend)
            warnings.simplefilter("ignore", SyntabulaWarning)
            synthesizer = st.synthesizer(method)(budget=budget, noise=noise, **options)
            try:
                release = synthesizer.fit(frame, schema)
            except PrivateDomainError as error:
                self.error = str(error)
            else:
                path = folder / "release.syn"
                release.save(path)
                rows = release.sample(37, seed=5).to_csv(index=False)
                self.released = path.read_bytes(), release.privacy.text(), rows
        for spent, first, last in zip(self.spends, starts, [*starts[1:], len(noise.calls)], strict=True):
            spent.calls = noise.calls[first:last]


def check(first: Run, second: Run) -> None:
    """Assert that nothing tells the two runs apart but the inputs of the noise, within its sensitivity."""
    asked = [[(s.step, s.event, s.query) for s in run.spends] for run in (first, second)]
    assert asked[0] == asked[1]
    for one, other in zip(first.spends, second.spends, strict=True):
        assert len(one.calls) == len(other.calls)
        assert len(one.calls) == 1 or isinstance(one.event, TreeEvent)
        for a, b in zip(one.calls, other.calls, strict=True):
            check_draw(one.event, a, b)
    assert first.error == second.error
    assert first.released == second.released


def check_draw(event: Event, one: Call, other: Call) -> None:
    assert one.scale == other.scale
    if isinstance(event, ThresholdEvent):
        assert one.scale == event.sigma
        # Aligned by the replaying source: at most one label fewer for each row, or one count lower by one.
        assert abs(int(one.exact.sum()) - int(other.exact.sum())) <= event.rows
        return
    difference = np.abs(one.exact.astype(float) - other.exact.astype(float))
    match event:
        case GaussianEvent():
            assert np.square(difference).sum() <= event.l2_sensitivity_squared
            assert one.scale == event.sigma
        case LaplaceEvent():
            assert difference.sum() <= event.l1_sensitivity
            assert one.scale == event.scale
        case TreeEvent():
            assert difference.sum() <= event.rows * STEPS
            assert one.scale == event.scale * STEPS
        case ExponentialEvent():
            assert difference.max(initial=0) <= event.rows * one.scale * event.epsilon / 2 * (1 + 1e-9)
        case _:
            raise AssertionError(f"unexpected {type(event).__name__}")


def compare(seed: int, folder: Path, *, declared: bool, **options) -> tuple[int, Run]:
    """Run on one table and its neighbours; return how many pairs were compared, and the first run."""
    frame, schema = table(seed)
    return compare_with(seed, folder, frame, schema if declared else None, neighbours(frame), **options)


def compare_with(
    seed: int,
    folder: Path,
    frame: object,
    schema: st.Schema | None,
    others: Iterable[tuple[str, object]],
    *,
    replaying: type[ReplayingLabels] = ReplayingLabels,
    **options,
) -> tuple[int, Run]:
    """Run on one table and on these neighbours; return how many pairs were compared, and the first run."""
    first = Run(frame, schema, RecordingNoise(SeededNoise(seed)), folder, **options)
    calls = [call for spent in first.spends for call in spent.calls]
    pairs = 0
    for _, neighbour in others:
        replay = replaying(SeededNoise(seed), script=calls)
        check(first, Run(neighbour, schema, replay, folder, **options))
        pairs += 1
    return pairs, first


def settings(discretizer: str, within: str) -> dict[str, object]:
    return {"preprocessing": st.Preprocessing(discretizer=discretizer, within=within), "bins": 10}


@pytest.mark.thorough
@pytest.mark.parametrize("discretizer", DISCRETIZERS)
class TestRecordAndReplay:
    @pytest.mark.parametrize("within", ["even", "normal"])
    def test_declared_domains(self, discretizer, within, tmp_path):
        # All pairs of a discretiser, a way within bins and a currency.
        budget = (LOOSE, PURE)[(DISCRETIZERS.index(discretizer) + (within == "even")) % 2]
        for seed in (0, 1):
            pairs, _ = compare(seed, tmp_path, declared=True, budget=budget, **settings(discretizer, within))
            assert pairs >= 5

    def test_domains_found_privately(self, discretizer, tmp_path):
        within = ("even", "normal")[DISCRETIZERS.index(discretizer) % 2]
        ended = []
        for seed in (0, 1, 2):
            pairs, run = compare(
                seed, tmp_path, declared=False, budget=LOOSE, **settings(discretizer, within)
            )
            assert pairs >= 5
            ended.append(run.released is not None)

        # Both ends are compared: tables of a few records have no bounds to find.
        assert any(ended)


@pytest.mark.thorough
def test_missing_cells_that_are_found_before_the_learner(tmp_path):
    pairs, run = compare(
        1, tmp_path, declared=False, budget=LOOSE, method="mwem", **settings("uniform", "even")
    )

    assert pairs >= 5
    assert run.released is not None


def test_codes_that_are_held_as_categories(tmp_path):
    frame = pd.DataFrame({"code": [0, 1000, 5000] * 60 + [77], "age": [*range(90)] * 2 + [5]})
    frame["code"] = frame["code"].astype("category")
    options = {"budget": LOOSE, **settings("privtree", "even")}
    first = Run(frame, None, RecordingNoise(SeededNoise(0)), tmp_path, **options)
    calls = [call for spent in first.spends for call in spent.calls]

    for gone in (0, 1, 2, len(frame) - 1):
        replay = ReplayingLabels(SeededNoise(0), script=calls)
        check(first, Run(frame.drop(index=gone), None, replay, tmp_path, **options))

    assert first.released is not None
    assert {type(s.event) for s in first.spends if "code" in s.step} == {ThresholdEvent}


@pytest.mark.parametrize("kind", ["letters", "any letters"])
def test_shapes_of_keys(kind, tmp_path):
    letters = [f"{a}{b}X" for a in "JCDEFGHIAB" for b in "GBCDEFAHIJKLMNO"]
    keys = [f"{'INV' if kind == 'letters' else letters[i]}-{7919 * i % 10**6:06d}" for i in range(150)]
    frame = pd.DataFrame({"key": [*keys, "X1", "x 2/3", None], "age": [*range(50)] * 3 + [5] * 3})
    options = {"budget": LOOSE, **settings("privtree", "even")}
    first = Run(frame, None, RecordingNoise(SeededNoise(0)), tmp_path, **options)
    calls = [call for spent in first.spends for call in spent.calls]

    # A key of the common shape, those of other shapes, and a missing one.
    for gone in (0, 70, 150, 151, 152):
        replay = ReplayingLabels(SeededNoise(0), script=calls)
        check(first, Run(frame.drop(index=gone), None, replay, tmp_path, **options))

    asked = [s.event for s in first.spends if s.step == "find the domain of 'key'"]
    *found, counted = [type(event) for event in asked]
    assert found == [ThresholdEvent] * (2 if kind == "letters" else 3)
    assert counted is GaussianEvent
    assert first.released is not None
    shape = "INV-" if kind == "letters" else "[A-Z]{3}-"
    assert re.match(shape, first.released[2].splitlines()[1])


def test_digits_of_keys(tmp_path):
    keys = [10**7 + 7919 * i for i in range(200)]
    odd = [keys[0], 5, 123, 123, None]
    frame = pd.DataFrame({"order_id": pd.array([*keys, *odd], dtype="Int64"), "age": [*range(41)] * 5})
    options = {"budget": LOOSE, **settings("privtree", "even")}
    first = Run(frame, None, RecordingNoise(SeededNoise(0)), tmp_path, **options)
    calls = [call for spent in first.spends for call in spent.calls]

    # A key with another like it, one without, keys of other digits, and a missing one.
    for gone in (0, 70, 201, 203, 204):
        replay = ReplayingLabels(SeededNoise(0), script=calls)
        check(first, Run(frame.drop(index=gone), None, replay, tmp_path, **options))

    asked = [c.exact.size for s in first.spends if s.step == "find the domain of 'order_id'" for c in s.calls]
    assert asked[-2:] == [3, 19]
    assert first.released is not None
    assert re.match("[1-9][0-9]{7},", first.released[2].splitlines()[1])


def test_whole_numbers_that_may_be_clock_times(tmp_path):
    times = [100 * (7 * i % 24) + 11 * i % 60 for i in range(240)]
    frame = pd.DataFrame({"departs": [*times, 2400, 1275, 50, None]})
    options = {"budget": LOOSE, **settings("privtree", "even")}
    first = Run(frame, None, RecordingNoise(SeededNoise(0)), tmp_path, **options)
    calls = [call for spent in first.spends for call in spent.calls]

    # A telling time, others, numbers that are none, and a missing one.
    for gone in (0, 4, 5, 240, 241, 242, 243):
        replay = ReplayingLabels(SeededNoise(0), script=calls)
        check(first, Run(frame.drop(index=gone), None, replay, tmp_path, **options))

    asked = [
        call.exact.size for s in first.spends if s.step == "find the domain of 'departs'" for call in s.calls
    ]
    assert 4 in asked


def with_money() -> tuple[pd.DataFrame, st.Schema]:
    """Return a table of round amounts and of fees that are not round; each has values that many records share."""
    amounts = [0.0] * 60 + [500.0] * 40 + [999_000.0] * 30 + [100.0 * i for i in range(1, 30)] + [7.77, 12.3]
    fees = [0.0] * 40 + [12.34] * 50 + [33.33 + 1.01 * i for i in range(len(amounts) - 90)]
    frame = pd.DataFrame({"amount": amounts, "fee": fees, "hours": [i % 3 * 20 for i in range(len(amounts))]})
    declared = {
        "amount": st.Numeric(0, 1e6, decimals=2, nullable=True),
        "fee": st.Numeric(0, 1e6, decimals=2, nullable=True),
        "hours": st.Numeric(0, 120, integer=True),
    }
    return frame, st.Schema(declared)


def with_prices() -> tuple[pd.DataFrame, st.Schema]:
    """Return a table of prices and hours of which most are multiples of 5, and a few are one other value."""
    prices = [5.0 * (i % 20) for i in range(400)] + [49.99] * 150 + [7.77]
    hours = [5 * (i % 25) for i in range(525)] + [37] * 25 + [38]
    declared = {
        "price": st.Numeric(0, 1e4, decimals=2, nullable=True),
        "hours": st.Numeric(0, 120, integer=True),
    }
    return pd.DataFrame({"price": prices, "hours": hours}), st.Schema(declared)


class TestFrequentValues:
    """Atoms and roundness, where values are counted and where the question about them may fail."""

    @pytest.mark.parametrize(
        ("budget", "discretizer"),
        [(st.Budget(epsilon=9.0, delta=1e-4), "privtree"), (PURE, "uniform")],
        ids=["gdp", "pure"],
    )
    def test_nothing_but_noise_tells_neighbours_apart(self, discretizer, budget, tmp_path):
        frame, schema = with_money()
        chosen = st.Preprocessing(discretizer=discretizer, atoms="found", within="round", share=0.5)
        options = {"budget": budget, "preprocessing": chosen, "bins": 10}

        first = self.compared(frame, schema, tmp_path, options)

        events = {s.step: type(s.event) for s in first.spends}
        asked = ThresholdEvent if budget is not PURE else LaplaceEvent
        assert events["find the frequent values of 'fee'"] is asked
        assert "find the roundness of 'hours'" in events

    @pytest.mark.parametrize(
        ("budget", "n_seen"), [(st.Budget.pure(10.0), 4), (PURE, 2)], ids=["all", "hours and weekdays alone"]
    )
    def test_nor_does_more_than_noise_by_days_and_times(self, tmp_path, budget, n_seen):
        hours = np.arange(130) * 1001
        frame = pd.DataFrame(
            {
                "seen": np.datetime64("2020-02-28T22:00:00") + hours.astype("timedelta64[m]"),
                "paid": np.datetime64("2020-01-31") + (hours % 90).astype("timedelta64[D]"),
            }
        )
        frame.loc[3, "seen"] = None
        bounds = dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)
        declared = {
            "seen": st.Datetime(*bounds, timezone=None, nullable=True),
            "paid": st.Date(*map(dt.datetime.date, bounds)),
        }
        options = {"budget": budget, "bins": 10, "preprocessing": st.Preprocessing(share=0.5)}

        first = self.compared(frame, st.Schema(declared), tmp_path, options)

        asked = [s.step for s in first.spends if "rhythm" in s.step]
        assert asked.count("find the rhythm of 'seen'") == n_seen
        assert asked.count("find the rhythm of 'paid'") == 2

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_nor_does_what_hours_and_weekdays_tell_of_others(self, tmp_path):
        minutes = np.arange(130) * 4001
        seen = np.datetime64("2020-01-01T00:00:00") + minutes.astype("timedelta64[m]")
        kinds = np.array(["a", "b", "c"])[(minutes // 60) % 24 // 8]
        frame = pd.DataFrame({"seen": seen, "kind": kinds, "paid": minutes % 2 == 0})
        frame.loc[3, "seen"] = None
        bounds = dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)
        declared = {
            "seen": st.Datetime(*bounds, timezone=None, nullable=True),
            "kind": st.Categorical(("a", "b", "c")),
            "paid": st.Boolean(),
        }
        options = {"budget": st.Budget.zcdp(400.0, 1e-5), "method": "mst"}

        first = self.compared(frame, st.Schema(declared), tmp_path, options)

        asked = [s.step for s in first.spends if "hours and weekdays" in s.step]
        # Of two columns beside the times, each of two questions on hours counts one, and so do weekdays.
        assert len(asked) == 5

    def test_a_value_that_one_record_has_is_found_out(self, tmp_path, monkeypatch):
        from syntabula.privacy.doors import scores as doors

        # The planted bug: positions among the values that occur, whatever their noisy counts.
        def leaky(token, noise, counts, n_public, least):
            event = token.consume()
            exact = counts.reveal_inside_privacy()
            return np.arange(exact.size), noise.discrete_gaussian(exact, event.sigma)

        monkeypatch.setattr(doors, "frequent", leaky)
        frame, schema = with_money()
        options = {"budget": st.Budget(epsilon=9.0, delta=1e-4), "bins": 250}

        with pytest.raises(AssertionError):
            self.compared(frame, schema, tmp_path, options)

    @pytest.mark.thorough
    @pytest.mark.parametrize("budget", [GRID, PURE_GRID], ids=["gdp", "pure"])
    def test_neighbours_of_values_off_a_grid(self, budget, tmp_path):
        frame, schema = with_prices()
        chosen = st.Preprocessing(share=0.5)
        options = {"budget": budget, "preprocessing": chosen, "bins": 60}

        first = self.compared(frame, schema, tmp_path, options)

        events = {s.step: s.event for s in first.spends}
        prices, hours = (events[f"find the frequent values of {name!r}"] for name in frame)
        assert isinstance(prices, ThresholdEvent if budget is GRID else LaplaceEvent)
        # All 121 values of the small domain are counted, each with what lies after it.
        assert hours.cells == 121

    def compared(self, frame, schema, folder, options) -> Run:
        first = Run(frame, schema, RecordingNoise(SeededNoise(0)), folder, **options)
        calls = [call for spent in first.spends for call in spent.calls]
        for gone in (0, 70, 120, len(frame) - 1, len(frame) - 3):
            replay = ReplayingLabels(SeededNoise(0), script=calls)
            check(first, Run(frame.drop(index=gone), schema, replay, folder, **options))
        assert first.released is not None
        return first


class TestRule:
    def test_the_number_of_bins_rests_on_a_noisy_count(self, tmp_path):
        options = {"bins": "auto", "preprocessing": st.Preprocessing(discretizer="privtree")}

        pairs, run = compare(2, tmp_path, declared=True, budget=LOOSE, **options)

        assert pairs >= 5
        assert run.spends[0].step == "count the records"


@pytest.mark.thorough
class TestPlantedBugs:
    """What public code does, planted here: each must be found."""

    def found(self, tmp_path: Path, **options) -> bool:
        try:
            for seed in (1, 2, 3):
                compare(seed, tmp_path, declared=options.pop("declared", False), budget=LOOSE, **options)
        except AssertionError:
            return True
        return False

    def test_bounds_read_off_the_data(self, tmp_path, monkeypatch):
        from syntabula.prepare import number_search
        from syntabula.prepare.bounds import FoundBounds

        def observed(column, **_):
            points = column._points.reveal_inside_privacy().values
            return FoundBounds(points.min().item(), points.max().item(), True)

        monkeypatch.setattr(number_search, "extract_bounds", observed)

        assert self.found(tmp_path, **settings("uniform", "even"))

    def test_bins_at_exact_quantiles(self, tmp_path, monkeypatch):
        from syntabula.prepare.quantile import QuantileBins

        def observed(self, column, lower, upper, *, count, **_):
            points = np.clip(column._points.reveal_inside_privacy().values, lower, upper)
            cuts = np.unique(np.quantile(points, np.arange(1, count) / count)).tolist()
            from syntabula.prepare.preprocessing import bins_through

            return bins_through(cuts, lower, upper, integer=column.integer)

        monkeypatch.setattr(QuantileBins, "fit", observed)

        assert self.found(tmp_path, **settings("quantile", "even"))

    def test_a_tree_without_noise(self, tmp_path, monkeypatch):
        from syntabula.prepare.privtree import PrivTreeBins

        def observed(self, column, lower, upper, *, count, **_):
            points = column._points.reveal_inside_privacy().values
            return UniformBins(max(1, int(points.size))).bins(lower, upper, integer=column.integer)

        monkeypatch.setattr(PrivTreeBins, "fit", observed)

        assert self.found(tmp_path, **settings("privtree", "even"))

    def test_half_of_the_noise_that_was_paid_for(self, tmp_path, monkeypatch):
        from syntabula.privacy.doors import columns as column_curator

        right = column_curator.noisy_counts

        monkeypatch.setattr(column_curator, "noisy_counts", lambda t, n, c: right(t, HalfNoise(n), c))

        assert self.found(tmp_path, **settings("kmeans", "even"))

    def test_a_sum_whose_width_is_twice_what_its_noise_was_made_for(self, tmp_path, monkeypatch):
        from syntabula.privacy.doors import columns as column_curator

        right = column_curator.counting_event

        def wrong(ledger, share, *, sensitivity, cells, **options):
            return right(ledger, share, sensitivity=max(1, sensitivity // 2), cells=cells, **options)

        monkeypatch.setattr(column_curator, "counting_event", wrong)

        assert self.found(tmp_path, **settings("uniform", "normal"))

    def test_an_exact_number_of_missing_cells(self, tmp_path, monkeypatch):
        right = ColumnCurator.histogram

        def leaky(self, edges, *, share, step, count_missing=False):
            answer = right(self, edges, share=share, step=step, count_missing=count_missing)
            if count_missing:
                answer.values[-1] = 1e9 * (self._missing.reveal_inside_privacy() % 2)
            return answer

        monkeypatch.setattr(ColumnCurator, "histogram", leaky)

        # A learner that measures single columns does not use this number.
        assert self.found(tmp_path, method="mwem", **settings("uniform", "even"))
