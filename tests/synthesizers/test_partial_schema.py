"""A schema that declares some columns: the others are found as those of a table without a schema are."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DataError, DomainWarning, ResourceError, SchemaError
from syntabula.prepare.found_keys import REPEATS_SHARE, SHAPES_SHARE
from syntabula.synthesizers import plan
from syntabula.synthesizers.plan import GUESSED_ROWS
from syntabula.synthesizers.planned import Plan
from syntabula.table.raw import PhysicalType
from syntabula.table.read import read

N = 4_000
SOME = st.Schema(
    {"job": st.Categorical(("cook", "nurse", "judge")), "age": st.Numeric(0, 120, integer=True)},
    others="find",
)
PUBLIC = {"age": "public", "job": "public"}
FOUND = {"pay": "private", "day": "private", "town": "private"}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pay": np.round(rng.lognormal(3, 1, N), 2),
            "age": rng.integers(17, 91, N),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, N)],
            "job": rng.choice(["cook", "nurse", "judge"], N),
            "town": rng.choice(["Bern", "Genf", "Chur"], N),
        }
    )


def method(**options: Any) -> st.Independent:
    return st.Independent(epsilon=9.0, seed=1, **options)


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("partial") / "people.csv"
    people().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def release(csv: Path) -> st.Release:
    return method().fit(csv, SOME)


class TestRelease:
    @pytest.mark.thorough
    def test_each_column_says_what_it_was_in_the_order_of_the_table(self, release: st.Release) -> None:
        assert [*release.provenance.items()] == [
            (name, (PUBLIC | FOUND)[name]) for name in ("pay", "age", "day", "job", "town")
        ]
        assert release.schema["age"] == SOME["age"]
        assert release.schema["job"] == SOME["job"]
        assert isinstance(release.schema["pay"], st.Numeric)
        assert isinstance(release.schema["day"], st.Date)
        assert set(release.schema["town"].categories) == {"Bern", "Genf", "Chur"}
        assert release.schema.others is None

    @pytest.mark.thorough
    def test_the_statement_tells_stated_domains_from_those_paid_for(self, release: st.Release) -> None:
        text = release.privacy.text()

        assert "stated by the custodian, independently of the data (2): age, job." in text
        assert "found under differential privacy, paid for above (3): pay, day, town." in text
        assert release.privacy.types_read is False

    def test_it_is_saved_and_loaded(self, release: st.Release, tmp_path: Path) -> None:
        release.save(tmp_path / "x.syn")

        loaded = st.load(tmp_path / "x.syn")

        assert loaded.schema == release.schema
        assert loaded.sample(200, seed=2).equals(release.sample(200, seed=2))
        assert list(loaded.sample(5).columns) == ["pay", "age", "day", "job", "town"]


class TestBudget:
    def test_only_what_is_not_declared_is_searched(self, release: st.Release, csv: Path) -> None:
        types = dict.fromkeys(release.schema, PhysicalType("text", "VARCHAR"))
        plan = method().plan(SOME, physical=types, types_found=True)
        planned = {step.name: step.share for step in plan.steps}

        spent = {line.step: line.share for line in release.privacy.lines}

        assert {s for s in planned if "type" in s} == {f"find the type of {name!r}" for name in FOUND}
        assert {s for s in spent if "domain" in s} == {f"find the domain of {name!r}" for name in FOUND}
        assert sum(planned.values()) == pytest.approx(1.0)
        # What is kept for keys goes to the model where categories are found.
        of_domains = sum(
            share for step, share in spent.items() if "one-way" not in step and "hours" not in step
        )
        assert 0.1 * (1 - float(SHAPES_SHARE + REPEATS_SHARE)) < of_domains <= 0.1

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning")
    def test_a_schema_that_declares_all_columns_costs_what_a_whole_one_does(self) -> None:
        whole = st.Schema({n: method().fit(people(), SOME).schema[n] for n in people()})

        lines = [
            method().fit(people(), st.Schema(whole.columns, others=others)).privacy.lines
            for others in (None, "find")
        ]

        assert lines[0] == lines[1]

    @pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning")
    def test_wide_domains_are_merged_and_found_ones_are_not(self) -> None:
        wide = st.Schema({"job": st.Categorical(tuple(map(str, range(500))), open=True)}, others="find")
        frame = people()[["job", "town"]]
        independent = st.Independent(epsilon=5.0, seed=0)

        release = independent.fit(frame, wide)

        stored = {name: column.physical for name, column in read(frame).columns.items()}
        planned = independent.plan(wide, physical=stored).steps
        spent = {line.step: line.share for line in release.privacy.lines}
        assert spent.keys() == {step.name for step in planned}
        assert any("rare" in step for step in spent)


class TestSources:
    @pytest.mark.parametrize("kind", ["pandas", "polars", "parquet", "csv"])
    def test_any_table_may_have_further_columns(self, kind: str, csv: Path, tmp_path: Path) -> None:
        if kind == "parquet":
            people().to_parquet(tmp_path / "t.parquet")
        source = {"pandas": people(), "polars": pl.from_pandas(people()), "csv": csv}.get(kind)

        fitted = method().fit(tmp_path / "t.parquet" if source is None else source, SOME)

        assert dict(fitted.provenance) == PUBLIC | FOUND
        # No type is stored in a CSV file, so that they are found as well.
        assert fitted.privacy.stored_types == (() if kind == "csv" else ("pay", "day", "town"))
        assert fitted.privacy.types_read is False

    def test_types_of_what_is_declared_taint_nothing(self) -> None:
        days = SOME.with_column("day", st.Date(dt.date(2024, 1, 1), dt.date(2024, 12, 31)))

        some = method().fit(people(), days).privacy
        whole = method().fit(people()[["age", "job"]], SOME).privacy

        assert some.stored_types == ("pay", "town")
        assert "unless the stored types of 2 of 5 columns (pay, town) are public" in some.reasons_against[1]
        assert whole.stored_types == ()

    @pytest.mark.thorough
    def test_records_of_json_have_the_keys_that_occur(self, tmp_path: Path) -> None:
        rows = people()[["job", "age", "pay"]].to_dict("records")
        path = tmp_path / "t.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

        fitted = method().fit(path, SOME)

        assert dict(fitted.provenance) == {"job": "public", "age": "public", "pay": "private"}
        assert "inferred from the cells" in fitted.privacy.text()
        with pytest.raises(SchemaError, match=r"no column 'aeg'.*did you mean 'age'"):
            method().fit(path, st.Schema({"aeg": SOME["age"]}, others="find"))

    @pytest.mark.thorough
    @pytest.mark.parametrize("observed", [False, True])
    def test_keys_of_json_taint_even_where_all_that_occur_are_declared(
        self, observed: bool, tmp_path: Path
    ) -> None:
        # One more record may have another key, or be the first and order them otherwise.
        rows = people()[["job", "age"]].to_dict("records")
        path = tmp_path / "t.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

        some = method(allow_observed=observed).fit(path, SOME)
        whole = method(allow_observed=observed).fit(path, st.Schema(SOME.columns))

        assert some.privacy.types_read
        assert "in JSON, the set of columns" in some.privacy.text()
        assert not whole.privacy.types_read

    def test_cells_are_read_as_declared_and_others_as_found(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_text("code;n\n" + "007;1\n008;2\n" * 500)
        codes = st.Schema({"code": st.Categorical(("007", "008"))}, others="find")

        made = method().fit(path, codes).sample(50, seed=0)

        assert set(made["code"]) == {"007", "008"}
        assert made["n"].dtype.kind == "i"


class TestRefusals:
    def test_without_leave_a_further_column_is_refused(self) -> None:
        with pytest.raises(SchemaError, match=r"does not declare columns 'pay', 'day', 'town'.*others: find"):
            method().fit(people(), st.Schema(SOME.columns))

    @pytest.mark.parametrize("kind", ["frame", "file"])
    def test_a_declared_column_that_the_table_lacks_is_named(
        self, kind: str, csv: Path, tmp_path: Path
    ) -> None:
        misspelt = st.Schema({"Job": SOME["job"]}, others="find")
        journal = tmp_path / "journal"

        with pytest.raises(SchemaError, match="no column 'Job'; for 'Job' did you mean 'job'"):
            method(journal=journal).fit(csv if kind == "file" else people(), misspelt)
        assert not journal.exists() or not journal.read_bytes()

    def test_what_is_declared_too_large_is_refused_before_data_is_read(self) -> None:
        wide = st.Schema({"job": st.Categorical(tuple(map(str, range(10**5))), open=True)}, others="find")

        with pytest.raises(ResourceError, match="'job' has 100,001 codes"):
            method(memory_mb=0.1, rare=None).fit("there_is_no_such_file.csv", wide)

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
    def test_what_is_found_too_large_is_refused(self, csv: Path) -> None:
        names = st.Schema({"job": st.Identifier()}, others="find")

        with pytest.raises(ResourceError, match="may need"):
            method(memory_mb=1e-6).fit(csv, names)

    @pytest.mark.thorough
    def test_whether_it_is_too_large_does_not_depend_on_the_number_of_records(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[int] = []
        planned = plan.planned_fit

        def watched(*args: Any) -> Plan:
            asked.append(args[-1])
            return planned(*args)

        monkeypatch.setattr(plan, "planned_fit", watched)
        for n_rows in (N, N - 1):
            method().fit(people()[:n_rows], SOME)

        assert asked
        assert set(asked) == {GUESSED_ROWS}


class TestCoercions:
    @pytest.mark.thorough
    def test_values_outside_are_told_of_declared_columns_alone(self, csv: Path) -> None:
        narrow = SOME.with_column("age", st.Numeric(20, 90, integer=True))

        with pytest.warns(CoercionWarning) as told:
            method().fit(csv, narrow)

        assert [str(w.message).split(":")[0] for w in told] == ["column 'age'"]

    @pytest.mark.thorough
    def test_strict_is_about_what_is_declared(self, csv: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CoercionWarning)
            method().fit(csv, SOME, strict=True)
        narrow = SOME.with_column("age", st.Numeric(20, 90, integer=True))
        with pytest.raises(DataError, match=r"strict reading failed\. column 'age'"):
            method().fit(csv, narrow, strict=True)

    def test_one_hidden_column_beside_declared_ones_stops_nothing(self) -> None:
        frame = people()[["job", "age"]].assign(debt=np.where(np.arange(N) < 3, 7.5, np.nan))

        with pytest.warns(DomainWarning, match="'debt'.*replaced by 0"):
            fitted = st.Independent(epsilon=1.0, seed=0).fit(frame, SOME)

        assert set(fitted.sample(500, seed=0)["debt"].dropna()) <= {0.0}


class TestObserved:
    @pytest.mark.thorough
    def test_with_leave_the_others_are_read_off_the_table(self, csv: Path) -> None:
        fitted = method(allow_observed=True).fit(csv, SOME)

        assert dict(fitted.provenance) == PUBLIC | dict.fromkeys(FOUND, "observed")
        assert not any("domain" in line.step for line in fitted.privacy.lines)
        assert "3 of 5 columns (pay, day, town)" in fitted.privacy.text()

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_scores_take_such_a_schema_as_well(self, csv: Path, release: st.Release) -> None:
        scores = st.evaluate(csv, release.sample(N, seed=0), schema=SOME, metrics=["tvd-1"])

        assert scores.facts["columns"] == ["pay", "age", "day", "job", "town"]


def test_ordered_columns_of_both_sorts_are_known_to_the_domain(release: st.Release) -> None:
    assert release.codec.domain.ordered == {"pay", "age", "day"}
