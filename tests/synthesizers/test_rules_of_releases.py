"""Every row of a release satisfies the schema's rules, whichever method made it, and its file keeps them."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import Categorical, Date, Datetime, Identifier, Numeric, Rules, Schema
from syntabula.cli.main import main
from syntabula.errors import (
    ArgumentError,
    CoercionWarning,
    ConditionWarning,
    DataError,
    ReleaseFileError,
    ResourceError,
    RuleWarning,
    SchemaError,
)
from syntabula.synthesizers.release_file import read_release, write_release
from syntabula.table.read import read
from syntabula.table.rules import checks
from syntabula.table.rules.at_work import row_rules

COLUMNS = {
    "id": Identifier(integer=True),
    "a": Numeric(0, 9, integer=True),
    "b": Numeric(0, 9, integer=True, nullable=True),
    "total": Numeric(0, 18, integer=True, nullable=True),
    "day": Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
    "end": Date(dt.date(2020, 1, 1), dt.date(2021, 12, 31), nullable=True),
    "hour": Numeric(0, 23, integer=True, nullable=True),
    "weekday": Numeric(0, 6, integer=True),
    "s": Categorical(["none", "x"]),
    "e": Categorical(["none", "y"]),
}
RULES = Rules(
    derive={"total": "a + b", "weekday": "dayofweek(day)"},
    order=[["day", "end"]],
    require=["not (s = 'none' and e <> 'none')", "a < 9 or total > 9"],
    together=[["end", "hour"]],
)
SCHEMA = Schema(COLUMNS, rules=RULES)


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    day = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"))
    gone = rng.random(n) < 0.2
    a = rng.integers(0, 9, n)
    b = pd.Series(rng.integers(0, 10, n)).astype("Int64").mask(rng.random(n) < 0.1)
    s = np.where(rng.random(n) < 0.4, "none", "x")
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "a": a,
            "b": b,
            "total": a + b,
            "day": day,
            "end": (day + pd.to_timedelta(rng.geometric(0.2, n) - 1, unit="D")).mask(gone),
            "hour": pd.Series(rng.integers(0, 24, n)).astype("Int64").mask(gone),
            "weekday": (day.dt.dayofweek + 1) % 7,
            "s": s,
            "e": np.where(s == "none", "none", np.where(rng.random(n) < 0.5, "none", "y")),
        }
    )


def broken(frame, schema=SCHEMA):
    found = row_rules(schema)
    cells = read(frame, schema).columns
    return {rule: int(rows.sum()) for rule, rows in found.broken_by(cells, len(frame)).items() if rows.any()}


@pytest.fixture(scope="module")
def release():
    return st.MST(epsilon=2.0, seed=1).fit(table(), SCHEMA)


@pytest.fixture(scope="module")
def near():
    columns = {"a": Numeric(0, 999, integer=True), "b": Numeric(0, 999.5, step=0.5)}
    rng = np.random.default_rng(0)
    a = rng.integers(0, 990, 300)
    frame = pd.DataFrame({"a": a, "b": a + rng.integers(0, 10, 300) / 2})
    schema = Schema(columns, rules=Rules(require=["b between a and a + 4.5"]))
    return st.Independent(epsilon=5.0, seed=1).fit(frame, schema)


def flights(order):
    """Return times of flights, which leave up to two hours late, and their schema."""
    rng, n = np.random.default_rng(0), 2000
    planned = pd.Series(
        pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(500, 500_000, n), unit="min")
    )
    flown, late = rng.integers(50, 401, n), rng.integers(-10, 121, n)
    leaves = planned + pd.to_timedelta(late, unit="min")
    real = {"planned": planned, "lands": planned + pd.to_timedelta(flown, unit="min"), "leaves": leaves}
    real["landed"] = leaves + pd.to_timedelta(flown + rng.integers(-20, 21, n), unit="min")
    bounds = dt.datetime(2023, 1, 1), dt.datetime(2024, 1, 1)
    columns = {name: Datetime(*bounds, resolution="minute") for name in real}
    near = "leaves between planned - interval 10 minute and planned + interval 120 minute"
    return pd.DataFrame(real), Schema(columns, rules=Rules(order=order, require=[near]))


def stays(gaps, *, unit):
    """Return a table of stays, some of whose first or last days or times are missing, and its schema."""
    rng, n = np.random.default_rng(0), 2000
    of_days, length = unit == "day", pd.Timedelta(1, unit="D" if unit == "day" else "s")
    day = pd.Series(
        pd.Timestamp("2020-01-01") + rng.integers(0, 700, n) * length * (1 if of_days else 97_711)
    )
    end = day + rng.geometric(0.05, n) * length * (1 if of_days else 7)
    frame = pd.DataFrame({"day": day.mask(rng.random(n) < gaps[0]), "end": end.mask(rng.random(n) < gaps[1])})
    counted = frame if of_days else frame.apply(lambda column: column.dt.floor("min"))
    apart = (counted["end"] - counted["day"]) / pd.Timedelta(1, unit="D" if of_days else "min")
    frame["stay"] = apart.round().astype("Int64")
    bounds = dt.date(2020, 1, 1), dt.date(2023, 12, 31)
    times = [dt.datetime.combine(bound, dt.time()) for bound in bounds]
    columns = {
        name: Date(*bounds, nullable=gap > 0)
        if of_days
        else Datetime(*times, resolution="second", nullable=gap > 0)
        for name, gap in zip(["day", "end"], gaps, strict=True)
    }
    columns["stay"] = Numeric(0, 900, integer=True, nullable=any(gaps))
    rules = Rules(derive={"stay": f"date_diff('{unit}', day, \"end\")"}, order=[["day", "end"]])
    return frame, Schema(columns, rules=rules)


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuleWarning)
        return call()


class TestRows:
    @pytest.mark.parametrize(
        "method",
        [
            st.MST(epsilon=1.0, seed=1),
            pytest.param(st.AIM(epsilon=1.0, seed=1).with_options(max_rounds=4), marks=pytest.mark.thorough),
            pytest.param(st.Independent(epsilon=1.0, seed=1), marks=pytest.mark.thorough),
            st.PrivBayes(epsilon=1.0, seed=1),
            st.PrivSyn(epsilon=1.0, seed=1),
            pytest.param(st.PrivateGSD(epsilon=1.0, seed=1), marks=pytest.mark.thorough),
            pytest.param(st.Circuit(epsilon=float("inf"), seed=1), marks=pytest.mark.thorough),
            pytest.param(st.Synthpop(epsilon=float("inf"), seed=1), marks=pytest.mark.thorough),
        ],
        ids=lambda m: m.key,
    )
    def test_all_satisfy_all_rules(self, method):
        frame = table()
        assert not broken(frame)

        drawn = quietly(lambda: method.fit(frame, SCHEMA).sample(700, seed=2))

        assert not broken(drawn)
        assert [*drawn] == [*COLUMNS]
        assert drawn["id"].tolist() == [*range(1, 701)]
        assert drawn["end"].isna().mean() > 0.1

    @pytest.mark.thorough
    def test_derived_columns_need_not_be_in_the_table(self):
        frame = table().drop(columns=["total", "weekday"])

        drawn = quietly(lambda: st.MST(epsilon=1.0, seed=1).fit(frame, SCHEMA).sample(300, seed=2))

        assert not broken(drawn)

    def test_they_cost_nothing(self, release):
        steps = "".join(line.step for line in release.privacy.lines)
        plan = st.MST(epsilon=2.0).plan(SCHEMA)

        assert "total" not in release.codec.domain
        assert "'weekday'" not in steps
        assert plan.computed == ("total", "weekday")
        assert "Computed by rules, at no cost: total, weekday" in str(plan)

    @pytest.mark.thorough
    def test_a_schema_without_rules_makes_the_same_rows_as_before(self):
        with_none = st.MST(epsilon=1.0, seed=1).fit(table(), Schema(COLUMNS)).sample(50, seed=3)
        with_empty = (
            st.MST(epsilon=1.0, seed=1).fit(table(), Schema(COLUMNS, rules=Rules())).sample(50, seed=3)
        )

        pd.testing.assert_frame_equal(with_none, with_empty)

    @pytest.mark.thorough
    def test_pieces_join(self, release, monkeypatch):
        monkeypatch.setattr("syntabula.synthesizers.drawing.ROWS_AT_ONCE", 100)

        drawn = quietly(lambda: release.sample(350, seed=1))

        assert drawn["id"].tolist() == [*range(1, 351)]
        assert not broken(drawn)

    @pytest.mark.thorough
    def test_other_columns_may_be_found_privately(self):
        columns = {n: c for n, c in COLUMNS.items() if n not in ("s", "e", "id")}
        rules = replace_rules(require=[])
        schema = Schema(columns, others="find", rules=rules)
        frame = table(4000).drop(columns="id")

        fitted = quietly(lambda: st.MST(epsilon=5.0, seed=1).fit(frame, schema))
        drawn = quietly(lambda: fitted.sample(300, seed=1))

        assert [*drawn] == [*frame]
        assert not broken(drawn[[*columns]], Schema(columns, rules=rules))
        assert fitted.schema["s"].provenance == "private"

    @pytest.mark.thorough
    def test_a_file_without_types_may_have_columns_to_find(self, tmp_path):
        columns = {n: COLUMNS[n] for n in ("a", "b", "total")}
        schema = Schema(columns, others="find", rules=Rules(derive={"total": "a + b"}))
        table(4000)[["total", "a", "s", "b"]].to_csv(tmp_path / "t.csv", index=False)

        fitted = st.MST(epsilon=5.0, seed=1).fit(tmp_path / "t.csv", schema)

        assert not any("total" in line.step for line in fitted.privacy.lines)
        drawn = fitted.sample(100, seed=1)
        assert [*drawn] == ["total", "a", "s", "b"]
        assert not broken(drawn[[*columns]], Schema(columns, rules=schema.rules))


def replace_rules(**changed):
    stated = {k: getattr(RULES, k) for k in ("derive", "order", "require", "together")} | changed
    return Rules(**stated)


class TestRejection:
    @pytest.mark.thorough
    def test_many_discarded_rows_are_said(self):
        # Four columns are more than the model holds.
        whole = Numeric(0, 9, integer=True)
        rule = "a + b + c + d = 18"
        schema = Schema(dict.fromkeys("abcd", whole), rules=Rules(require=[rule]))
        a, c = np.arange(2000) % 10, np.arange(2000) // 10 % 10
        frame = pd.DataFrame({"a": a, "b": 9 - a, "c": c, "d": 9 - c})
        fitted = st.Independent(epsilon=1.0, seed=1).fit(frame, schema)

        with pytest.warns(RuleWarning, match=r"\d\d% of the rows .* were discarded, .* = 18 \(\d\d\.\d%\)"):
            drawn = fitted.sample(200, seed=1)

        assert (drawn.sum(axis=1) == 18).all()
        assert 0.8 < fitted.rules_broken()[rule] < 1

    @pytest.mark.thorough
    def test_rules_that_the_model_holds_discard_no_row(self):
        whole = Numeric(0, 9, integer=True)
        schema = Schema({"a": whole, "b": whole}, rules=Rules(require=["a + b = 9"]))
        a = np.arange(2000) % 10

        fitted = st.Independent(epsilon=1.0, seed=1).fit(pd.DataFrame({"a": a, "b": 9 - a}), schema)

        assert fitted.rules_broken() == {}

    @pytest.mark.thorough
    def test_too_many_are_an_error_with_the_remedy(self):
        real = Numeric(0, 9, decimals=4)
        schema = Schema({"a": real, "b": real}, rules=Rules(require=["a + b = 9"]))
        a = np.linspace(0, 9, 2000).round(4)
        fitted = st.Independent(epsilon=1.0, seed=1).fit(pd.DataFrame({"a": a, "b": 9 - a}), schema)

        with pytest.raises(ResourceError, match="if it states an equality, derive one of its columns"):
            fitted.sample(100, seed=1)

    def test_a_rule_that_no_drawn_row_satisfies_is_no_error_before_rows_are_drawn(self):
        # Codes without records are left out, so that structural zeros left nothing at all.
        whole = Numeric(0, 500, integer=True)
        schema = Schema({"a": whole, "b": whole}, rules=Rules(require=["a + b = 200"]))
        frame = pd.DataFrame({"a": np.arange(2000) % 50, "b": np.arange(2000) // 50})

        with pytest.warns(CoercionWarning, match="rules that some rows of the table break"):
            fitted = st.MST(epsilon=1.0, seed=1).fit(frame, schema)

        with pytest.raises(ResourceError, match=r"none of .* satisfies .* a \+ b = 200 .*correct the rule"):
            fitted.sample(10, seed=1)


class TestWindows:
    def test_hold_by_what_is_learned_and_discard_next_to_nothing(self):
        # As a condition alone, nine of ten drawn rows were discarded.
        rng = np.random.default_rng(0)
        whole = Numeric(0, 1500, integer=True)
        start = rng.integers(0, 1400, 2000)
        frame = pd.DataFrame({"start": start, "end": start + rng.integers(0, 4, 2000)})
        schema = Schema(dict.fromkeys(frame, whole), rules=Rules(require=['"end" - start between 0 and 3']))

        fitted = st.MST(epsilon=1.0, seed=1).fit(frame, schema)
        drawn = fitted.sample(2000, seed=1)

        assert sum(fitted.rules_broken().values()) < 0.01
        assert (drawn["end"] - drawn["start"]).between(0, 3).all()


class TestRealRowsThatBreakRules:
    @pytest.mark.thorough
    def test_the_custodian_is_told_without_counts_and_the_release_is_not(self, tmp_path):
        frame = table()
        frame.loc[:6, "s"] = "none"
        frame.loc[:6, "e"] = "y"
        frame.loc[:6, "total"] = 0

        with pytest.warns(CoercionWarning) as warned:
            fitted = st.MST(epsilon=1.0, seed=1).fit(frame, SCHEMA)

        said = [str(w.message) for w in warned if "rules that some rows" in str(w.message)]
        assert len(said) == 1
        assert "total = a + b; not (s = 'none' and e <> 'none')" in said[0]
        assert not any(c.isdigit() for c in said[0])
        assert "some rows" not in fitted.privacy.text()
        assert not broken(quietly(lambda: fitted.sample(300, seed=1)))

    def test_strict_reading_refuses_them(self):
        frame = table()
        frame.loc[0, "weekday"] = (frame.loc[0, "weekday"] + 1) % 7

        with pytest.raises(DataError, match=r"strict reading failed.*weekday = dayofweek\(day\)"):
            st.MST(epsilon=1.0, seed=1).fit(frame, SCHEMA, strict=True)


class TestStatement:
    def test_rules_are_public_facts(self, release):
        text = " ".join(release.privacy.text().split())

        assert (
            "Rules that every row of the release satisfies, stated by the custodian, at no cost (6): total = a + b;"
            in text
        )
        assert release.privacy.rules == tuple(RULES.described())
        assert type(release.privacy).from_json(release.privacy.to_json()) == release.privacy


class TestFile:
    def test_it_keeps_the_rules(self, release, tmp_path):
        release.save(tmp_path / "r.syn")

        loaded = st.load(tmp_path / "r.syn")

        assert loaded.schema == SCHEMA
        pd.testing.assert_frame_equal(
            quietly(lambda: loaded.sample(80, seed=4)), quietly(lambda: release.sample(80, seed=4))
        )

    def test_a_slip_that_earlier_versions_let_through_is_kept(self, tmp_path):
        columns = {name: COLUMNS[name] for name in ("a", "s")}
        slip = Rules(require=["not (s = 'non' and a > 0)", "a < 9"])
        path = tmp_path / "r.syn"
        spelled = Schema(columns, rules=Rules(require=["not (s = 'none' and a > 9)", "a < 9"]))
        st.Independent(epsilon=2.0, seed=1).fit(table()[[*columns]], spelled).save(path)
        content, arrays = read_release(path)
        content["ruled_schema"]["rules"] = slip.to_json()
        write_release(path, content, arrays, version=2)

        loaded = st.load(path)
        again = pickle.loads(pickle.dumps(loaded.schema))

        assert (loaded.sample(80, seed=4)["a"] < 9).all()
        assert loaded.schema.rules == slip == again.rules
        loaded.save(path)
        assert st.load(path).schema == loaded.schema
        with pytest.raises(SchemaError, match="'non' is no category of column 's'"):
            Schema(columns, rules=slip)

    def test_earlier_versions_refuse_it_and_read_one_without_rules(self, release, tmp_path):
        release.save(tmp_path / "r.syn")
        # Rhythms of days are of version 2, too.
        even = st.Preprocessing(within="even")
        plain = st.MST(epsilon=1.0, seed=1, preprocessing=even).fit(table(), Schema(COLUMNS))
        plain.save(tmp_path / "plain.syn")

        def version(name):
            import zipfile

            with zipfile.ZipFile(tmp_path / name) as archive:
                return json.loads(archive.read("manifest.json"))["format_version"]

        assert version("r.syn") == 2
        assert version("plain.syn") == 1

    def test_altered_rules_are_refused(self, release, tmp_path):
        release.save(tmp_path / "r.syn")
        facts, arrays = read_release(tmp_path / "r.syn")
        altered = [
            {"derive": {"total": "a + b"}},
            {"require": ["read_text('/etc/passwd') = s"]},
            {"require": ["a > 3", 7]},
            [],
        ]
        for rules in altered:
            content = facts | {"ruled_schema": facts["ruled_schema"] | {"rules": rules}}
            write_release(tmp_path / "altered.syn", content, arrays, version=2)

            with pytest.raises(ReleaseFileError, match=r"missing or malformed content|do not fit"):
                st.load(tmp_path / "altered.syn")


class TestStoredDistances:
    """A model keeps to what its columns were learned as, whatever a later version reads off the text of the rules."""

    def test_a_release_loads_where_rules_are_read_in_another_way(self, near, tmp_path, monkeypatch):
        near.save(tmp_path / "r.syn")
        monkeypatch.setattr("syntabula.table.rules.distances.add_near", lambda *args: None)
        checks._compiled.cache_clear()
        try:
            loaded = st.load(tmp_path / "r.syn")
            rows = loaded.sample(50, seed=4)
            loaded.save(tmp_path / "again.syn")
        finally:
            checks._compiled.cache_clear()

        pd.testing.assert_frame_equal(rows, near.sample(50, seed=4))
        assert (tmp_path / "again.syn").read_bytes() == (tmp_path / "r.syn").read_bytes()

    def test_they_are_read_off_the_rules_of_a_file_that_does_not_say(self, near, tmp_path):
        near.save(tmp_path / "r.syn")
        facts, arrays = read_release(tmp_path / "r.syn")
        del facts["distances"]
        write_release(tmp_path / "old.syn", facts, arrays, version=2)

        rows = st.load(tmp_path / "old.syn").sample(50, seed=4)

        pd.testing.assert_frame_equal(rows, near.sample(50, seed=4))

    @pytest.mark.parametrize(
        "altered",
        [
            [],
            {},
            {"b": 3},
            {"b": {"columns": ["b"]}},
            {"b": {"columns": ["b"], "upwards": True, "least": None, "most": None}},
            {"b": {"columns": [["a"]], "upwards": True, "least": None, "most": None}},
            {"b": {"columns": ["c"], "upwards": True, "least": None, "most": None}},
            {"b": {"columns": [], "upwards": True, "least": None, "most": None}},
            {"b": {"columns": ["a"], "upwards": 1, "least": [0, 1], "most": [9, 2]}},
            {"b": {"columns": ["a"], "upwards": True, "least": [0, 0], "most": [9, 2]}},
            {"b": {"columns": ["a"], "upwards": True, "least": [0, 1], "most": "9/2"}},
            {"b": {"columns": ["a"], "upwards": True, "least": [0, 1], "most": [9, 1]}},
            {"b": {"columns": ["a"], "upwards": True, "least": [-(10**400), 1], "most": [10**400, 1]}},
        ],
    )
    def test_altered_ones_are_refused(self, near, tmp_path, altered):
        near.save(tmp_path / "r.syn")
        facts, arrays = read_release(tmp_path / "r.syn")
        write_release(tmp_path / "altered.syn", facts | {"distances": altered}, arrays, version=2)

        with pytest.raises(ReleaseFileError, match=r"missing or malformed content|do not fit"):
            st.load(tmp_path / "altered.syn")

    def test_a_cycle_is_refused(self, near, tmp_path):
        near.save(tmp_path / "r.syn")
        facts, arrays = read_release(tmp_path / "r.syn")
        one = facts["distances"]["b"]
        cycle = {"a": one | {"columns": ["b"]}, "b": one}
        write_release(tmp_path / "altered.syn", facts | {"distances": cycle}, arrays, version=2)

        with pytest.raises(ReleaseFileError, match="missing or malformed content"):
            st.load(tmp_path / "altered.syn")


class TestConditions:
    def test_they_hold_on_computed_columns(self, release):
        drawn = quietly(
            lambda: release.sample(
                200,
                where={"weekday": [0, 6], "total": (5, None), "s": "x", "end": ("2020-03-01", "2020-12-31")},
                seed=1,
            )
        )

        assert len(drawn) == 200
        assert drawn["weekday"].isin([0, 6]).all()
        assert (drawn["total"] >= 5).all()
        assert (drawn["s"] == "x").all()
        assert drawn["end"].between("2020-03-01", "2020-12-31").all()
        assert not broken(drawn)

    def test_rare_values_of_a_difference_are_drawn_at_once(self):
        real, schema = stays((0.0, 0.3), unit="day")
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(real, schema)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConditionWarning)
            drawn = release.sample(200, where={"stay": (150, 250)}, seed=1)

        assert drawn["stay"].between(150, 250).all()
        # A share of .7 * (.95^150 - .95^250) = .0003 of the rows.
        assert 0 < release.probability({"stay": (150, 250)}) < 0.001

    def test_what_no_tried_row_showed_has_an_error(self, release):
        # No sum of eight and another number is zero, which only the rows that are tried show.
        where = {"total": 0, "a": 8}
        probability, error = release.probability_with_error(where)

        assert probability == 0
        assert 0 < error < 1e-4

    def test_missing_cells_can_be_asked_for(self, release):
        drawn = quietly(lambda: release.sample(50, where={"end": None}, seed=1))

        assert drawn["end"].isna().all()
        assert drawn["hour"].isna().all()

    @pytest.mark.thorough
    def test_the_probability_is_that_of_rows(self, release):
        where = {"weekday": [0, 6], "s": "x"}
        drawn = quietly(lambda: release.sample(50_000, seed=1))

        share = (drawn["weekday"].isin([0, 6]) & (drawn["s"] == "x")).mean()

        # Both are estimated from 50,000 rows or more: a difference of .02 is over six standard deviations.
        assert abs(release.probability(where) - share) < 0.02

    def test_wrong_ones_are_refused_as_ever(self, release):
        with pytest.raises(ArgumentError, match="column 'weekday' never is"):
            release.sample(10, where={"weekday": 9})
        with pytest.raises(SchemaError, match="there is no column 'weekdy'; did you mean 'weekday'"):
            release.sample(10, where={"weekdy": 1})
        with pytest.raises(ArgumentError, match="where must be a dictionary"):
            release.sample(10, where=3)

    @pytest.mark.thorough
    def test_one_that_hardly_any_row_satisfies_says_so_and_what_works(self, near, monkeypatch):
        monkeypatch.setattr("syntabula.synthesizers.ruled_rows._LEAST_TRIED", 2000)
        # About one row in twenty is kept.
        monkeypatch.setattr("syntabula.synthesizers.ruled_rows._LEAST_KEPT", 0.1)
        with (
            pytest.warns(ConditionWarning, match="expects .* records"),
            pytest.raises(ResourceError, match=r"conditions on column 'b', .* wider range; .*as given=") as e,
        ):
            near.sample(1000, where={"b": 0.5}, seed=1)
        assert "rule" not in str(e.value)

        drawn = near.sample(given=pd.DataFrame({"b": np.full(50, 0.5)}), seed=1)

        assert (drawn["b"] == 0.5).all()
        assert drawn["a"].isin([0]).all()


class TestGiven:
    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "names",
        [["s", "day", "end"], ["weekday", "s"], ["a", "b", "total"], ["id", "end", "hour"]],
        ids="-".join,
    )
    def test_given_values_are_kept_and_rules_hold(self, release, names):
        given = table(120, seed=5)[names]

        drawn = quietly(lambda: release.sample(given=given, seed=1))

        assert not broken(drawn)
        for name in names:
            pd.testing.assert_series_equal(drawn[name], given[name], check_dtype=False)

    def test_distances_lead_to_a_given_end(self):
        columns = {n: Date(dt.date(2020, 1, 1), dt.date(2024, 12, 31)) for n in ("day", "end")}
        rng = np.random.default_rng(0)
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1400, 4000), unit="D")
        real = pd.DataFrame({"day": day, "end": day + pd.to_timedelta(rng.integers(3, 8, 4000), unit="D")})
        release = st.Independent(epsilon=5, delta=1e-6, seed=0).fit(
            real, Schema(columns, rules=Rules(order=[["day", "end"]]))
        )

        drawn = quietly(lambda: release.sample(given=real[["end"]][:1000], seed=1))

        days = (drawn["end"] - drawn["day"]).dt.days
        # Each of them is 3 to 7 in the table; what noise leaves beyond is a few in 10,000 by the released counts, and the
        # day of a 32nd of five years was up to 57 days off.
        assert days.between(3, 7).mean() > 0.98
        pd.testing.assert_series_equal(drawn["end"], real["end"][:1000], check_dtype=False)

    def test_the_last_of_several_columns_in_an_order_moves_those_before_it(self):
        columns = {n: Date(dt.date(2020, 1, 1), dt.date(2024, 12, 31)) for n in ("asked", "day", "end")}
        rng = np.random.default_rng(0)
        asked = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1400, 4000), unit="D")
        day = asked + pd.to_timedelta(rng.integers(1, 4, 4000), unit="D")
        real = pd.DataFrame(
            {"asked": asked, "day": day, "end": day + pd.to_timedelta(rng.integers(3, 8, 4000), unit="D")}
        )
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(
            real, Schema(columns, rules=Rules(order=[["asked", "day", "end"]]))
        )

        drawn = quietly(lambda: release.sample(given=real[["end"]][:1000], seed=1))

        # As above; the day was up to 57 days off.
        assert (drawn["end"] - drawn["day"]).dt.days.between(3, 7).mean() > 0.98
        assert (drawn["day"] - drawn["asked"]).dt.days.between(1, 3).mean() > 0.98
        pd.testing.assert_series_equal(drawn["end"], real["end"][:1000], check_dtype=False)

    @pytest.mark.parametrize("names", [["b", "c"], ["a", "c"]], ids="-".join)
    def test_rare_values_of_an_order_are_reached_without_its_other_columns(self, names):
        rng = np.random.default_rng(0)
        a = rng.integers(0, 1000, 3000)
        b = a + rng.geometric(0.05, 3000) - 1
        far = rng.random(3000) < 0.02
        real = pd.DataFrame({"a": a, "b": b, "c": b + np.where(far, 900, rng.geometric(0.1, 3000))})
        # The first one is the narrowest, from which the others are distances.
        columns = {name: Numeric(0, 2999 + (name != "a"), integer=True) for name in "abc"}
        schema = Schema(columns, rules=Rules(order=[["a", "b", "c"]]))
        given = real[names][far][:40]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConditionWarning)
            drawn = st.Independent(epsilon=1.0, seed=0).fit(real, schema).sample(given=given, seed=1)

        assert ((drawn["a"] <= drawn["b"]) & (drawn["b"] <= drawn["c"])).all()
        assert (drawn[names].to_numpy() == given.to_numpy()).all()

    @pytest.mark.parametrize("gaps", [(0.0, 0.3), (0.2, 0.3)], ids=["of the end", "of both"])
    def test_a_given_difference_tells_its_missing_end(self, gaps):
        real, schema = stays(gaps, unit="day")
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(real, schema)
        every = {*real.columns}

        for names in (["stay"], ["end", "stay"], ["day", "stay"], ["day", "end"]):
            given = real[names][:300]
            drawn = quietly(lambda given=given: release.sample(given=given, seed=1))

            assert not broken(drawn, schema)
            assert {*drawn} == every
            for name in names:
                pd.testing.assert_series_equal(drawn[name], given[name], check_dtype=False)
        with pytest.raises(ArgumentError, match="column 'stay' has 1 cell with a value outside the bounds"):
            release.sample(given=pd.DataFrame({"stay": [901]}))

    def test_one_in_begun_units_is_reached_by_moves(self):
        real, schema = stays((0.2, 0.3), unit="minute")
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(real, schema)
        given = real[["end", "stay"]][:200]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConditionWarning)
            drawn = quietly(lambda: release.sample(given=given, seed=1))

        assert not broken(drawn, schema)
        for name in given:
            pd.testing.assert_series_equal(drawn[name], given[name], check_dtype=False)

    @pytest.mark.parametrize(
        "names", [["lands", "leaves"], ["lands", "landed"], ["lands", "leaves", "landed"]]
    )
    def test_ends_of_joined_orders_leave_their_start_in_its_window(self, names):
        real, schema = flights([["planned", "lands"], ["leaves", "landed"]])
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(real, schema)
        given = real[names][:300]

        # No warning is given: their start is moved by what was drawn, and not as a guess.
        drawn = release.sample(given=given, seed=1)

        assert not broken(drawn, schema)
        for name in given:
            pd.testing.assert_series_equal(drawn[name], given[name], check_dtype=False)
        # The flights take 225 minutes; the median of 300 has a standard deviation of 10.
        assert abs(
            (drawn["lands"] - drawn["planned"]).median() - pd.Timedelta(225, unit="min")
        ) < pd.Timedelta(80, unit="min")

    @pytest.mark.parametrize("order", [[["planned", "lands"], ["leaves", "landed"]], []])
    def test_a_start_is_moved_from_afar_where_few_draws_come_near(self, order, monkeypatch):
        monkeypatch.setattr("syntabula.synthesizers.ruled_completion._ROWS_AT_ONCE", 300)
        real, schema = flights(order)
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(real, schema)
        given = real[["leaves"]][:300]

        with pytest.warns(ConditionWarning, match="of 300 given rows, no draw kept .*leaves"):
            drawn = release.sample(given=given, seed=1)

        assert not broken(drawn, schema)
        pd.testing.assert_frame_equal(drawn[["leaves"]], given, check_dtype=False)

    def test_a_given_sum_tells_its_missing_part(self):
        rng = np.random.default_rng(0)
        real = pd.DataFrame({name: rng.gamma(2, 50, 2000).round(2) for name in ("net", "tax")})
        real["gross"] = (real["net"] + real["tax"]).round(2)
        columns = {name: Numeric(0, 5000, decimals=2) for name in real}
        schema = Schema(columns, rules=Rules(derive={"gross": "net + tax"}))
        release = st.Independent(epsilon=9, delta=1e-6, seed=0).fit(real, schema)
        given = real[["gross", "tax"]][:200]

        drawn = release.sample(given=given, seed=1)

        pd.testing.assert_frame_equal(drawn, real[:200], check_dtype=False)

    @pytest.mark.thorough
    def test_values_that_break_a_rule_are_refused_without_showing_them(self, release):
        given = pd.DataFrame({"a": [1, 2], "b": [3, 4], "total": [4, 7]})

        with pytest.raises(
            ArgumentError, match="for 1 of 2 given rows, no draw satisfies the rules: total"
        ) as said:
            release.sample(given=given, seed=1)

        assert "7" not in str(said.value)

    def test_rows_that_no_draw_satisfies_are_named_though_kinds_of_rows_are_drawn_apart(self):
        numbers = [Numeric(0, 50, integer=True, nullable=nullable) for nullable in (False, True, True)]
        columns = dict(zip(("net", "tax", "gross"), numbers, strict=True))
        schema = Schema(columns, rules=Rules(derive={"gross": "net + tax"}))
        rng = np.random.default_rng(0)
        real = pd.DataFrame({"net": rng.integers(0, 20, 200), "tax": rng.integers(0, 20, 200) * 1.0})
        real.loc[::3, "tax"] = np.nan
        release = st.Independent(epsilon=9, seed=0).fit(real.assign(gross=real["net"] + real["tax"]), schema)
        # The net amount follows where there are both others, so that these rows are drawn apart.
        given = pd.DataFrame({"tax": [9, None, None, 9, 9], "gross": [15, None, 7, 3, 20]})

        with pytest.raises(ArgumentError, match=r"for 2 of 5 .*They are: 2, 3 \(the first row is 0\)"):
            release.sample(given=given, seed=1)

    @pytest.mark.thorough
    def test_values_that_contradict_each_other_are_told_once(self, release):
        given = pd.DataFrame({"s": ["none"], "e": ["y"]})

        with (
            warnings.catch_warnings(record=True, action="always") as caught,
            pytest.raises(ArgumentError, match="no draw satisfies"),
        ):
            release.sample(given=given, seed=1)

        assert ["1 of 1 given rows are impossible" in str(w.message) for w in caught] == [True]

    @pytest.mark.filterwarnings("ignore::syntabula.errors.ConditionWarning")
    def test_rows_of_all_kinds_are_counted_together(self, release):
        parts = pd.array([1, 2, None, None] * 10, dtype="Int64")
        given = pd.DataFrame({"b": parts, "total": parts + 4, "s": "none", "e": "none"})
        given.loc[given.index % 20 < 4, "e"] = "y"

        # Where both are given, the other part of a sum follows: these rows are drawn apart.
        with pytest.raises(ArgumentError, match=r"for 8 of 40 given rows, no draw .*'none'\) \(100\.0%\)"):
            release.sample(given=given, seed=1)

    def test_values_outside_the_domain_are_refused(self, release):
        with pytest.raises(ArgumentError, match="column 'total' has 1 cell with a value outside the bounds"):
            release.sample(given=pd.DataFrame({"total": [99]}))


class TestCommands:
    @pytest.mark.thorough
    def test_a_table_is_made_and_its_release_described(self, tmp_path, capsys):
        table().to_csv(tmp_path / "t.csv", index=False)
        SCHEMA.to_yaml(tmp_path / "s.yaml")
        names = {name: str(tmp_path / name) for name in ("t.csv", "s.yaml", "out.csv", "r.syn")}
        fit = [
            "synth",
            names["t.csv"],
            "-o",
            names["out.csv"],
            "--schema",
            names["s.yaml"],
            "--save",
            names["r.syn"],
        ]

        assert main([*fit, "--epsilon", "2", "--method", "mst"]) == 0
        assert not broken(pd.read_csv(names["out.csv"], parse_dates=["day", "end"]))
        capsys.readouterr()

        assert main(["info", names["r.syn"]]) == 0
        assert "rules: 6; broken by drawn rows, which are discarded: " in capsys.readouterr().out
        assert main(["info", names["r.syn"], "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["schema"]["rules"] == RULES.to_json()
        assert all(0 <= share < 1 for share in facts["rules_broken"].values())

        assert main(["plan", "--schema", names["s.yaml"], "--method", "mst"]) == 0
        assert "Computed by rules, at no cost: total, weekday" in capsys.readouterr().out
        assert (
            main(["sample", names["r.syn"], "-o", names["out.csv"], "--force", "--where", "weekday=0"]) == 0
        )
        assert (pd.read_csv(names["out.csv"])["weekday"] == 0).all()

    def test_a_bad_rule_is_an_error_of_the_schema(self, tmp_path, capsys):
        table().to_csv(tmp_path / "t.csv", index=False)
        document = SCHEMA.to_json()
        document["rules"]["require"] = ["read_csv('/etc/passwd') = s"]
        (tmp_path / "s.json").write_text(json.dumps(document))
        fit = [
            "synth",
            str(tmp_path / "t.csv"),
            "-o",
            str(tmp_path / "o.csv"),
            "--schema",
            str(tmp_path / "s.json"),
        ]

        assert main([*fit, "--epsilon", "1"]) != 0
        assert "it uses the function 'read_csv', which a rule cannot" in " ".join(
            capsys.readouterr().err.split()
        )


def test_an_order_of_derived_columns_alone_moves_none():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 50, 2_000)
    frame = pd.DataFrame({"a": a, "b": a + rng.integers(0, 50, 2_000)}).assign(
        c=lambda d: d.a + 1, d=lambda d: d.b + 1
    )
    whole = {"integer": True}
    columns = {n: st.Numeric(0, 100 + (n in "cd"), **whole) for n in "abcd"}
    rules = st.Rules(derive={"c": "a + 1", "d": "b + 1"}, order=[["c", "d"]])
    release = st.MST(epsilon=1.0, seed=1).fit(frame, st.Schema(columns, rules=rules))

    # Hardly any b reaches such an a.
    with pytest.raises(ArgumentError, match="rules"):
        release.sample(given=pd.DataFrame({"a": [99] * 50}), seed=1)
