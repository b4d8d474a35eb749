from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest

import syntabula
from syntabula import _register
from syntabula import metrics as room
from syntabula._entries import Entry
from syntabula.errors import ArgumentError, DataError, PrivacyWarning
from syntabula.metrics import Score, registry
from syntabula.metrics.evaluate import choose_metrics
from syntabula.metrics.queries import QueryError
from syntabula.metrics.total_variation import TotalVariation

SMALL = ("tvd-1", "tvd-2", "ks", "query-error-3")


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(40, 10, size=n), 1)
    return pd.DataFrame({"age": age, "pay": age * 2, "job": np.where(age > 40, "old", "young")})


def evaluate(*args, **kwargs):
    with pytest.warns(PrivacyWarning, match="NOT covered"):
        return syntabula.evaluate(*args, **kwargs)


class TestScores:
    def test_a_fresh_sample_scores_near_half_and_below_histogram(self):
        found = evaluate(people(800, 1), people(800, 2), metrics="tvd-2").score("tvd-2")

        assert found.value < 2 * found.baselines["HALF"]
        assert found.value < found.baselines["HISTOGRAM"] / 2

    @pytest.mark.thorough
    def test_self_is_the_real_table(self):
        found = evaluate(people(50, 1), people(50, 2), metrics=SMALL, baselines=["SELF"])

        assert [found.score(key).baselines for key in SMALL] == [{"SELF": 0.0}] * 4

    def test_baselines_can_be_left_out(self):
        found = evaluate(people(50, 1), people(50, 2), metrics="tvd-1", baselines=())

        assert found.score("tvd-1").baselines == {}

    @pytest.mark.thorough
    def test_a_score_does_not_depend_on_other_metrics_or_on_workers(self):
        tables = people(200, 1), people(150, 2)

        alone = evaluate(*tables, metrics="query-error-3", workers=1)
        among = evaluate(*tables, metrics=["query-error-3", "tvd-1", "query-similarity"], workers=3)

        assert alone.score("query-error-3") == among.score("query-error-3")

    @pytest.mark.thorough
    def test_the_seed_decides_what_is_drawn(self):
        tables = people(200, 1), people(150, 2)

        values = [
            evaluate(*tables, metrics="query-error-3", seed=s).score("query-error-3") for s in (0, 0, 1)
        ]

        assert values[0] == values[1] != values[2]

    def test_a_holdout_is_compared_with_and_gets_the_real_table_as_its_scale(self):
        real, unseen = people(200, 1), people(100, 3)

        found = evaluate(real, people(150, 2), holdout=unseen, metrics="tvd-1")

        direct = evaluate(unseen, people(150, 2), metrics="tvd-1", baselines=())
        copied = evaluate(unseen, real, metrics="tvd-1", baselines=())
        against = found.score("tvd-1", "holdout")
        assert against.value == direct.score("tvd-1").value
        assert against.baselines == {"SELF": copied.score("tvd-1").value}

    def test_the_warning_comes_with_every_form(self):
        found = evaluate(people(50, 1), people(50, 2), metrics="tvd-1")

        assert "NOT covered by any privacy guarantee" in found.text()
        assert "NOT covered by any privacy guarantee" in found.to_json()["warning"]


class TestChoice:
    def test_nothing_said_means_all_quick_ones_whose_needs_are_met(self):
        keys = [info.key for info, _ in choose_metrics(None, has_target=False, has_holdout=False)]

        assert {"tvd-2", "wasserstein-sliced", "query-error-3"} <= {*keys}
        assert "tvd-3" not in keys

    def test_a_group_means_its_quick_ones(self):
        keys = [info.key for info, _ in choose_metrics("queries", has_target=False, has_holdout=False)]

        assert keys == ["query-error-3", "query-error-prefix", "query-similarity"]

    @pytest.mark.thorough
    def test_metrics_with_options_of_their_own_are_taken_as_they_are(self):
        own = TotalVariation(way=2, levels=5)

        found = evaluate(people(100, 1), people(100, 2), metrics=[own, QueryError(way=2)])

        assert [r.score.metric for r in found.results] == ["tvd-2", "query-error-2"]
        assert found.score("tvd-2").baselines

    def test_wrong_arguments_are_refused_before_a_table_is_read(self):
        for options, message in [
            ({"metrics": "tvd2"}, "did you mean 'tvd-2'"),
            ({"metrics": [len]}, "is not registered as a metric"),
            ({"baselines": ["THIRD"]}, "baselines are HALF, HISTOGRAM, SELF"),
            ({"seed": -1}, "seed"),
            ({"workers": 0}, "workers"),
        ]:
            with pytest.raises(ArgumentError, match=message):
                syntabula.evaluate("nowhere.csv", "nowhere.csv", **options)

    def test_a_metric_that_lacks_its_target_is_refused(self, monkeypatch):
        needy = replace(room.describe_metric("tvd-1"), key="needy", needs=("target",))
        monkeypatch.setattr(room.registry, "BUILT_IN", (needy,))

        with pytest.raises(ArgumentError, match=r"'needy' needs target \(the column to predict\)$"):
            choose_metrics("needy", has_target=False, has_holdout=True)
        assert choose_metrics(None, has_target=False, has_holdout=True) == []

    def test_a_single_baseline_need_not_be_in_a_list(self):
        found = evaluate(people(50, 1), people(50, 2), metrics="tvd-1", baselines="SELF")

        assert dict(found.score("tvd-1").baselines) == {"SELF": 0.0}

    def test_all_that_a_metric_lacks_is_named_at_once_but_a_holdout_that_the_target_would_make(
        self, monkeypatch
    ):
        needy = replace(room.describe_metric("tvd-1"), key="needy", needs=("target", "holdout", "rules"))
        monkeypatch.setattr(room.registry, "BUILT_IN", (needy,))

        with pytest.raises(ArgumentError, match=r"needs target \([^)]*\) and rules \([^)]*\)$"):
            choose_metrics("needy", has_target=False, has_holdout=False)

    def test_a_target_that_is_no_column_is_told_apart_from_its_neighbour(self):
        with pytest.raises(ArgumentError, match="did you mean 'job'"):
            syntabula.evaluate(people(50, 1), people(50, 2), target="jop", metrics="tvd-1")

    def test_a_missing_file_is_an_error_of_data(self):
        with pytest.raises(DataError, match="no file"):
            syntabula.evaluate("nowhere.csv", "nowhere.csv", metrics="tvd-1")

    def test_an_unknown_score_names_those_there_are(self):
        found = evaluate(people(50, 1), people(50, 2), metrics="tvd-1")

        with pytest.raises(ArgumentError, match="there are tvd-1"):
            found.score("tvd-1", "holdout")


class TestForms:
    def test_a_tidy_table_holds_every_number_once(self):
        found = evaluate(people(50, 1), people(50, 2), metrics=["tvd-1", "ks"])

        frame = found.to_frame()

        assert isinstance(frame, pd.DataFrame)
        assert [*frame] == ["metric", "group", "against", "direction", "table", "part", "value"]
        assert not frame.duplicated(["metric", "against", "table", "part"]).any()
        whole = frame.query("metric == 'ks' and table == 'HALF'")
        assert whole["value"].tolist() == [found.score("ks").baselines["HALF"]]
        assert frame.query("metric == 'tvd-1' and part == 'job'")["value"].tolist() == [
            found.score("tvd-1").details["job",]
        ]

    def test_the_frame_is_of_the_library_of_the_real_table(self):
        real = pl.from_pandas(people(50, 1))

        assert isinstance(evaluate(real, people(50, 2), metrics="tvd-1").to_frame(), pl.DataFrame)

    def test_no_score_makes_an_empty_table(self):
        found = replace(evaluate(people(50, 1), people(50, 2), metrics="tvd-1"), results=())

        assert len(found.to_frame()) == 0
        assert found.text() == "no score was computed"

    def test_a_file_holds_the_tidy_table(self, tmp_path):
        found = evaluate(people(50, 1), people(50, 2), metrics="tvd-1")

        found.write(tmp_path / "scores.csv")

        frame = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False)
        assert len(frame) == len(found.to_frame())

    def test_json_is_plain_even_without_a_value(self):
        found = evaluate(people(50, 1)[["job"]], people(50, 2)[["job"]], metrics=["ks", "tvd-1"])

        facts = json.loads(json.dumps(found.to_json(), allow_nan=False))

        assert facts["scores"][0]["metric"] == "tvd-1"
        assert facts["scores"][1]["value"] is None
        assert math.isnan(found.to_frame().query("metric == 'ks'")["value"].iloc[0])

    def test_text_shows_score_scale_meaning_and_the_worst_part(self):
        found = evaluate(
            people(200, 1), people(200, 2).assign(job="old"), metrics=["tvd-1"], holdout=people(9, 3)
        )

        shown = found.text()

        assert "lower is better; HALF" in shown
        assert "Worst: job" in shown
        assert "tvd-1 (holdout)" in shown

    def test_text_of_a_copy_has_zeros_and_no_worst_part(self):
        real = people(200, 1)

        shown = evaluate(real, real, metrics=["tvd-1", "tvd-2", "pmse", "wasserstein-sliced"]).text()

        assert shown.count("  0, lower is better; ") == 4
        assert "Worst" not in shown
        assert not re.search(r"\de-\d", shown)

    def test_text_names_the_identifiers_which_are_not_compared(self):
        real, other = (people(50, seed).assign(key=[f"k{i:03d}" for i in range(50)]) for seed in (1, 2))

        found = evaluate(real, other, metrics="tvd-1", baselines=())

        assert "Identifiers are not compared: key." in found.text()

    def test_text_says_the_best_value_where_no_baseline_gives_a_scale(self):
        with_scale = evaluate(people(50, 1), people(50, 2), metrics="tvd-1")
        without = evaluate(people(50, 1), people(50, 2), metrics="tvd-1", baselines=())

        assert "lower is better; best 0\n" in without.text()
        assert "best 0" not in with_scale.text()
        assert without.to_json()["scores"][0]["best"] == 0.0

    @pytest.mark.thorough
    def test_each_group_is_one_block_whatever_was_named_first(self):
        found = evaluate(
            people(50, 1), people(50, 2), metrics=[QueryError(), "query-similarity", TotalVariation()]
        )

        assert [r.info.group for r in found.results] == ["fidelity", "queries", "queries"]
        assert found.text().count("Queries") == 1

    @pytest.mark.thorough
    def test_progress_reaches_the_end(self):
        steps = []

        evaluate(
            people(50, 1),
            people(50, 2),
            metrics=SMALL,
            progress=lambda step, done: steps.append((step, done)),
        )

        assert steps[0] == ("read the tables", 0.0)
        assert [done for _, done in steps] == sorted(done for _, done in steps)
        assert steps[-1][1] == 1.0


def test_a_failing_metric_fails_the_evaluation(monkeypatch):
    def fail(self, tables, rng) -> Score:
        raise ArgumentError("planted")

    monkeypatch.setattr(TotalVariation, "__call__", fail)

    with pytest.warns(PrivacyWarning), pytest.raises(ArgumentError, match="planted"):
        syntabula.evaluate(people(50, 1), people(50, 2), metrics=SMALL, workers=1)


class TestMetricsOfOthers:
    @pytest.fixture(autouse=True)
    def session(self, monkeypatch):
        monkeypatch.setattr(_register, "_of_session", {})

    def test_a_registered_class_is_listed_and_scored_by_its_name_and_as_an_object(self):
        @syntabula.register("metric")
        @dataclass(frozen=True)
        class FewerRows:
            """Rows that are missing."""

            group: ClassVar[str] = "queries"
            direction: ClassVar[str] = "lower"
            best: ClassVar[float] = 0.0

            key: str = "fewer-rows"
            weight: float = 1.0

            def __call__(self, tables, rng):
                missing = tables.real.n_rows - tables.synthetic.n_rows
                return Score(metric=self.key, value=self.weight * missing, direction="lower")

        info = syntabula.metrics.describe_metric("fewer-rows")
        found = evaluate(people(50, 1), people(40, 2), metrics=["fewer-rows", FewerRows(weight=2.0)])

        assert (info.group, info.direction, info.best) == ("queries", "lower", 0.0)
        assert info.summary == "Rows that are missing"
        assert [result.score.value for result in found.results] == [10.0, 20.0]
        assert info in [metric for metric in syntabula.list_metrics() if metric.group == "queries"]

    def test_a_class_that_does_not_say_its_group_and_direction_is_refused_when_it_is_registered(self):
        silent = type("Silent", (), {"key": "silent", "__call__": lambda self, tables, rng: None})

        with pytest.raises(
            ArgumentError, match="Silent lacks the class attributes of a metric: group, direction"
        ):
            syntabula.register("metric")(silent)

    def test_a_class_with_a_group_that_there_is_not_is_refused_by_name(self):
        odd = type("Odd", (), {"key": "odd", "group": "beauty", "direction": "lower"})
        syntabula.register("metric")(odd)

        with pytest.raises(ArgumentError, match=r"the metric 'odd' .*: group must be one of 'rows'"):
            syntabula.list_metrics()

    def test_an_entry_point_may_name_an_object_that_says_it_for_one_of_several_metrics(self, monkeypatch):
        info = replace(syntabula.metrics.describe_metric("tvd-1"), key="tvd-4", options={"way": 4})
        entry = Entry(kind="metric", key="tvd-4", home="elsewhere:TVD_4")
        monkeypatch.setattr(registry, "entries", lambda kind, **asked: [entry])
        monkeypatch.setattr(registry, "load", lambda kind, key: info)

        assert syntabula.metrics.describe_metric("tvd-4").make() == TotalVariation(way=4)

    def test_a_metric_of_a_name_of_ours_is_refused_and_does_not_take_its_place(self):
        mine = type("Mine", (), {"key": "tvd-1", "group": "fidelity", "direction": "lower"})

        with pytest.raises(
            ArgumentError, match=r"the name 'tvd-1' belongs to syntabula.metrics.total_variation"
        ):
            syntabula.register("metric")(mine)

        assert [info.load() for info in syntabula.list_metrics() if info.key == "tvd-1"] == [TotalVariation]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (
                "no_such_module:Part",
                r"'no_such_module:Part'.*cannot be loaded \(ModuleNotFoundError: No module named '\w+'\)",
            ),
            (
                "syntabula.errors:NoPart",
                r"'syntabula.errors:NoPart'.*cannot be loaded \(AttributeError: module '[\w.]+' has no attribute '\w+'\)",
            ),
            ("syntabula.errors:ArgumentError", "lacks the class attributes of a metric: group, direction"),
            ("syntabula.version:__version__", "cannot be loaded"),
            ("syntabula:__version__", "neither a class nor an object of MetricInfo"),
        ],
    )
    def test_a_plug_in_that_is_no_metric_is_named(self, value, message, monkeypatch):
        point = EntryPoint("broken", value, "syntabula.metrics")
        monkeypatch.setattr(_register, "_points", lambda kind: (point,))

        with pytest.raises(ArgumentError, match=message):
            syntabula.list_metrics()


class TestBrokenPlugIns:
    @pytest.fixture(autouse=True)
    def session(self, monkeypatch):
        monkeypatch.setattr(_register, "_of_session", {})

    def test_one_that_raises_leaves_the_other_scores_and_shows_no_cell(self):
        register_metric(lambda tables: 1 / len("secret".replace("secret", "")))

        found = evaluate(people(50, 1), people(50, 2), metrics=["tvd-1", "mine"])

        assert found.score("tvd-1").value > 0
        assert math.isnan(found.score("mine").value)
        assert "no value: the metric 'mine' of the plug-in " in found.text()
        assert [
            ("broke with ZeroDivisionError at line" in fault, "secret" in fault) for fault in found.faults
        ] == [(True, False)]
        assert found.to_json()["faults"] == [*found.faults]

    def test_one_that_returns_no_score_is_told(self):
        register_metric(lambda tables: 0.5)

        found = evaluate(people(50, 1), people(50, 2), metrics=["tvd-1", "mine"])

        assert [("object of type float instead of a Score" in fault) for fault in found.faults] == [True]

    def test_one_that_fails_on_a_baseline_keeps_its_value(self):
        def halves_fail(tables):
            if tables.real.n_rows < 50:
                raise ValueError
            return Score(metric="mine", value=1.0, direction="lower", note="few rows")

        register_metric(halves_fail)

        found = evaluate(people(50, 1), people(50, 2), metrics=["mine"])

        assert (found.score("mine").value, dict(found.score("mine").baselines)) == (1.0, {"HISTOGRAM": 1.0})
        assert found.score("mine").note.startswith("few rows; there is no HALF: the metric 'mine'")
        assert len(found.faults) == 1

    def test_one_whose_class_cannot_be_called_breaks_alone(self):
        def refuse(self):
            raise TypeError

        register_metric(None, __init__=refuse)

        found = evaluate(people(50, 1), people(50, 2), metrics=["tvd-1", "mine"])

        assert found.score("tvd-1").value > 0
        assert "broke with TypeError" in found.score("mine").note

    def test_one_that_cannot_be_loaded_is_told_where_a_group_was_asked_for(self, monkeypatch):
        point = EntryPoint("broken", "no_such_module:Part", "syntabula.metrics")
        monkeypatch.setattr(_register, "_points", lambda kind: (point,))

        group = evaluate(people(50, 1), people(50, 2), metrics="queries", baselines=())
        named = evaluate(people(50, 1), people(50, 2), metrics="tvd-1")

        assert "Not computed: the plug-in 'no_such_module:Part'" in group.text()
        assert len(group.results) == 3
        assert (len(group.faults), named.faults) == (1, ())
        with pytest.raises(ArgumentError, match="cannot be loaded"):
            syntabula.evaluate("nowhere.csv", "nowhere.csv", metrics="broken")


def register_metric(scored, **attributes) -> None:
    """Register the metric `mine`, whose value a function of tables returns."""
    facts = {"key": "mine", "group": "rows", "direction": "lower", "__call__": lambda self, t, rng: scored(t)}
    syntabula.register("metric")(type("Mine", (), facts | attributes))


class TestOwnHoldout:
    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(2, 800))
        made = [pd.DataFrame({"x": v, "y": 2 * v + rng.normal(scale=0.1, size=800), "c": v > 0}) for v in x]
        return made[0], made[1]

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    @pytest.mark.parametrize(("target", "key"), [("y", "predictive-error"), ("c", "predictive-utility")])
    def test_a_target_alone_gives_the_quick_score_that_fits_it(self, target: str, key: str) -> None:
        real, other = self.tables()

        found = evaluate(real, other, target=target, baselines=())
        again = evaluate(real, other, target=target, metrics=key, baselines=())

        (result,) = (r for r in found.results if r.info.group == "utility")
        assert result.info.key == key
        assert "tested on a quarter of the real table" in result.score.note
        assert result.score.facts["tested"] == 200
        # A table of the same distribution is as good as real records; noise has a hundredth of the variance.
        assert 0.8 < result.score.value < 1.25
        assert again.score(key).value == result.score.value

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_baselines_are_tested_on_the_same_rows_and_the_text_says_which(self) -> None:
        real, other = self.tables()

        found = evaluate(real, other, target="y", metrics="predictive-error")

        score = found.score("predictive-error")
        # Halves keep the relation of x and y; columns shuffled apart have an error of 2 where .1 is possible.
        assert 0.8 < score.baselines["HALF"] < 1.25
        assert score.baselines["HISTOGRAM"] > 5
        assert "Note: tested on a quarter of the real table" in found.text()

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_a_baseline_without_enough_rows_is_left_out(self) -> None:
        real, other = self.tables()

        found = evaluate(real[:2], other, target="y", metrics="predictive-error")

        assert found.score("predictive-error").baselines == {}

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_a_table_without_the_relation_has_a_larger_error(self) -> None:
        real, other = self.tables()
        broken = other.assign(y=np.random.default_rng(1).permutation(other["y"]))

        assert (
            evaluate(real, broken, target="y", metrics="predictive-error").score("predictive-error").value > 5
        )


def test_a_library_that_others_look_for_is_imported_before_threads_begin(tmp_path):
    """CatBoost imports polars, which scikit-learn looks up in another thread: half-imported it broke evaluate."""
    pytest.importorskip("catboost")
    pytest.importorskip("polars")
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, threading\n"
        "import numpy as np, pandas, syntabula\n"
        "from syntabula.metrics.utility.affinity import Affinity\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'polars':\n"
        "            print('polars in', threading.current_thread().name)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "x = np.arange(60)\n"
        "frame = pandas.DataFrame({'x': x % 7, 'y': np.where(x % 2, 'a', 'b')})\n"
        "judged = Affinity(evaluators=('linear', 'catboost'))\n"
        "syntabula.evaluate(frame, frame, target='y', metrics=[judged], baselines=[], workers=2)\n"
    )

    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["polars", "in", "MainThread"], ran.stderr
