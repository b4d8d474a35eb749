"""Twenty bugs of the kinds that published code has had; the record-and-replay test must find each of them.

Two more are in the sums of the ledger, which only a run that asks for too much can show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from half_noise import HalfNoise
from test_record_and_replay import compare

import syntabula as st
from syntabula.errors import BudgetExceededError, DataError
from syntabula.marginals import recoding as recodings
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import EncodedTable
from syntabula.models.recoded import RecodedModel
from syntabula.prepare import found_columns
from syntabula.prepare.preprocessing import RareCategories
from syntabula.privacy.doors import tables as curators
from syntabula.privacy.doors.tables import Candidates, Curator
from syntabula.privacy.ledger import Ledger, LedgerEntry
from syntabula.privacy.mechanisms import Sensitive
from syntabula.privacy.rules import failure_of
from syntabula.select import spanning_tree
from syntabula.select.spanning_tree import SpanningTree
from syntabula.synthesizers import fitting
from syntabula.synthesizers.release import Release
from syntabula.table.coding.codec import Codec

Plant = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, Plant] = {}


def bug(name: str) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        BUGS[name] = plant
        return plant

    return register


def exact_rows(private: Curator) -> int:
    return int(private._engine.counts([()])[0])


@bug("noise of half the size that is paid for")
def _(patch):
    right = curators.noisy_counts
    patch.setattr(
        curators, "noisy_counts", lambda token, noise, counts: right(token, HalfNoise(noise), counts)
    )


@bug("sensitivity of one, however many marginals are measured together")
def _(patch):
    right = Curator._noise
    patch.setattr(Curator, "_noise", lambda self, n, cells, share: right(self, 1, cells, share))


@bug("every record is counted twice")
def _(patch):
    right = MemoryEngine.counts
    patch.setattr(MemoryEngine, "counts", lambda self, cliques: [2 * c for c in right(self, cliques)])


@bug("selection on exact scores")
def _(patch):
    patch.setattr(
        curators,
        "choose",
        lambda token, noise, scores, score_sensitivity: int(np.argmax(scores.reveal_inside_privacy())),
    )


@bug("score sensitivity of the largest weight forgotten")
def _(patch):
    right = Candidates.__init__

    def made(self, private, cliques, estimates, **options):
        right(self, private, cliques, estimates, penalties=[exact_rows(private) * 3.0] * len(cliques))

    patch.setattr(Candidates, "__init__", made)


@bug("one cell is left without noise")
def _(patch):
    right = curators.noisy_counts

    def leaky(token, noise, counts):
        noisy = right(token, noise, counts)
        noisy[0] = counts.reveal_inside_privacy()[0]
        return noisy

    patch.setattr(curators, "noisy_counts", leaky)


@bug("noise from a stale copy: the exact counts are released")
def _(patch):
    def leaky(token, noise, counts):
        token.consume()
        return counts.reveal_inside_privacy().copy()

    patch.setattr(curators, "noisy_counts", leaky)


@bug("noise scale depends on the number of records")
def _(patch):
    right = Curator.measure

    def measure(self, cliques, *, share, step):
        return right(self, cliques, share=share * (1 if exact_rows(self) % 2 else 0.5), step=step)

    patch.setattr(Curator, "measure", measure)


@bug("a small table is measured in fewer steps")
def _(patch):
    right = RareCategories.fit
    patch.setattr(
        RareCategories,
        "fit",
        lambda self, private, columns: right(self, private, columns) if exact_rows(private) % 2 else None,
    )


@bug("rare categories are found from exact counts")
def _(patch):
    def fit(self, private, columns):
        private.measure([(c,) for c in columns], share=self.share, step=self.step)
        maps = {}
        for column in columns:
            kept = private._engine.counts([(column,)])[0] > 0
            maps[column] = recodings._merged(kept)
        return recodings.Recoding(private.domain, maps)

    patch.setattr(RareCategories, "fit", fit)


@bug("empty codes are dropped before the model is fitted")
def _(patch):
    def drop_empty(one_way, *, domain, **options):
        exact = _last_engine[0].counts([("income",)])[0]
        recoding = recodings.Recoding(domain, {"income": recodings._merged(exact > 0)})
        return recoding, [recoding.merge_measurement(m) for m in one_way]

    right = MemoryEngine.__init__

    def remember(self, *args, **options):
        right(self, *args, **options)
        _last_engine[:] = [self]

    patch.setattr(MemoryEngine, "__init__", remember)
    patch.setattr(spanning_tree, "coarsen", drop_empty)


_last_engine: list[MemoryEngine] = []


@bug("candidates are ordered by exact counts")
def _(patch):
    right = Candidates.choose

    def choose(self, *, among, **options):
        # The answer is a position in an order that hangs on the exact number of records.
        picked = right(self, among=among, **options)
        joining = np.flatnonzero(among).tolist()
        return joining[(joining.index(picked) + exact_rows(self._curator)) % len(joining)]

    patch.setattr(Candidates, "choose", choose)


@bug("the number of rows drawn is the exact one")
def _(patch):
    right = fitting.fit_table

    def fit(method, table, schema, journal, **options):
        release = right(method, table, schema, journal, **options)
        merged = release.model.inner
        exact = RecodedModel(replace(merged.inner, _total=float(table.n_rows)), merged.recoding)
        return replace(release, model=RecodedModel(exact, release.model.recoding))

    patch.setattr(fitting, "fit_table", fit)


@bug("the exact number of rows in the file")
def _(patch):
    right = fitting.fit_table

    def fit(method, table, schema, journal, **options):
        release = right(method, table, schema, journal, **options)
        return replace(release, method=f"{release.method} fitted to {table.n_rows} rows")

    patch.setattr(fitting, "fit_table", fit)


@bug("raw values in the file")
def _(patch):
    right = fitting.fit_table

    def fit(method, table, schema, journal, **options):
        # A fit lets go of the columns that it has coded.
        income = table.columns["income"]
        release = right(method, table, schema, journal, **options)
        return replace(release, method=f"{release.method} {income.values[~income.missing].tolist()}")

    patch.setattr(fitting, "fit_table", fit)


@bug("an unlisted category raises")
def _(patch):
    right = Codec.encode

    def encode(self, table, **options):
        if any(v == "nowhere" for v in table.columns["city"].values):
            raise DataError("unknown category")
        return right(self, table, **options)

    patch.setattr(Codec, "encode", encode)


@bug("too few rows raises")
def _(patch):
    right = Codec.encode

    def encode(self, table, **options):
        if table.n_rows % 7 == 3:
            raise DataError("too few rows")
        return right(self, table, **options)

    patch.setattr(Codec, "encode", encode)


def coded(change: Callable[[EncodedTable], dict[str, np.ndarray]]) -> Plant:
    """Plant a change of the encoded table that looks at more than one record."""

    def plant(patch):
        right = Codec.encode

        def encode(self, table, **options):
            encoded, coercions = right(self, table, **options)
            columns = {c: encoded.column(c) for c in encoded.domain} | change(encoded)
            return EncodedTable.from_mapping(encoded.domain, columns), coercions

        patch.setattr(Codec, "encode", encode)

    return plant


BUGS["missing cells are filled with the mean of the column"] = coded(
    lambda t: {
        "income": np.where(t.column("income") == 10, int(t.column("income").sum()) % 10, t.column("income"))
    }
)
BUGS["values are ranked among the others"] = coded(
    lambda t: {
        "age": (np.argsort(np.argsort(t.column("age"), kind="stable")) % t.domain.size("age")).astype(int)
    }
)
BUGS["duplicates of a record are kept, one is counted per distinct row"] = coded(
    lambda t: {"member": ((t.column("member").astype(int) + t.n_rows) % 2)}
)


class TestPlantedBugs:
    def test_there_are_twenty(self):
        assert len(BUGS) == 20

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", list(BUGS))
    def test_each_is_found(self, name, tmp_path, monkeypatch):
        BUGS[name](monkeypatch)

        found = False
        for seed in (1, 2, 3, 0):
            try:
                compare("mst", "approximate", seed, tmp_path)
            except (AssertionError, pytest.fail.Exception, ValueError, st.errors.SyntabulaError):
                found = True
                break

        assert found

    @pytest.mark.thorough
    def test_without_a_bug_nothing_is_found(self, tmp_path):
        assert compare("mst", "approximate", 1, tmp_path) >= 5


def largest_counts(attribute: str, measure: Callable[[LedgerEntry], Fraction]) -> Plant:
    """Plant a ledger that keeps the largest of some amounts, not their sum."""

    def plant(patch):
        right = Ledger._add

        def add(self, entry):
            before = getattr(self, attribute)
            right(self, entry)
            setattr(self, attribute, max(before, measure(entry)))

        patch.setattr(Ledger, "_add", add)

    return plant


SUMS: dict[str, tuple[str, Plant]] = {
    "failure probabilities do not add up": (
        "delta",
        largest_counts("_failure_spent", lambda entry: failure_of(entry.event)),
    ),
    "costs do not add up": ("share", largest_counts("_spent", lambda entry: entry.cost)),
}


def is_refused(asked: str, patch: pytest.MonkeyPatch) -> bool:
    """Say whether three columns are refused that each ask for nearly half of what all of them may have."""
    frame = pd.DataFrame({name: [f"{name} {i % 3}" for i in range(300)] for name in ("x", "y", "z")})
    right = found_columns.extract_column

    def greedy(name, raw, *, ledger, **options):
        whole = ledger.failure_allowance if asked == "delta" else Fraction(1)
        return right(name, raw, ledger=ledger, **(options | {asked: whole * Fraction(9, 20)}))

    patch.setattr(found_columns, "extract_column", greedy)
    try:
        st.Independent(epsilon=3.0, preprocessing=st.Preprocessing(share=0.05), seed=1).fit(frame)
    except BudgetExceededError:
        return True
    return False


class TestSums:
    @pytest.mark.parametrize("name", list(SUMS))
    def test_a_ledger_that_keeps_the_largest_is_found(self, name, monkeypatch):
        asked, plant = SUMS[name]
        plant(monkeypatch)

        assert not is_refused(asked, monkeypatch)

    @pytest.mark.parametrize("asked", ["delta", "share"])
    def test_ours_refuses_what_these_let_through(self, asked, monkeypatch):
        assert is_refused(asked, monkeypatch)


_ = (Release, SpanningTree, Sensitive)
