"""Utility scores: identities, targets of either kind, and tables that models cannot learn from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula._spaces import Range
from syntabula.errors import ArgumentError, MissingExtraError
from syntabula.metrics import Comparison, compare, describe_metric
from syntabula.metrics.utility.affinity import Affinity, tuned_settings
from syntabula.metrics.utility.efficacy import Efficacy
from syntabula.metrics.utility.evaluators import EVALUATORS, Evaluator, evaluator
from syntabula.metrics.utility.learning import Encoding, Predictions, Sample, Task, class_scores, predictions
from syntabula.metrics.utility.predictive_utility import PredictiveUtility

LIGHT = ("linear", "tree", "forest")
SCHEMA = st.Schema(
    {
        "x": st.Numeric(-9.0, 9.0, nullable=True),
        "c": st.Categorical(("a", "b")),
        "y": st.Categorical(("no", "yes", "perhaps"), nullable=True),
        "z": st.Numeric(-99.0, 99.0),
    }
)


def table(seed: int, n: int = 300, *, classes: int = 2) -> pd.DataFrame:
    """Draw a table whose last two columns follow from the first two."""
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=n), rng.choice(["a", "b"], n)
    level = x + 2 * (c == "b")
    y = np.array(["no", "yes", "perhaps"], object)[np.digitize(level, [1.0, 2.5][: classes - 1])]
    return pd.DataFrame({"x": x, "c": c, "y": y, "z": 3 * level})


def judged(synthetic: pd.DataFrame, target: str = "y", *, classes: int = 2) -> Comparison:
    return compare(
        table(1, classes=classes), synthetic, holdout=table(2, classes=classes), target=target, schema=SCHEMA
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


class TestIdentities:
    @pytest.mark.thorough
    @pytest.mark.parametrize("classes", [3])
    def test_training_on_the_real_table_itself_loses_nothing(self, classes):
        tables = judged(table(1, classes=classes), classes=classes)

        affinity = Affinity(evaluators=LIGHT)(tables, rng())
        utility = PredictiveUtility()(tables, rng())
        efficacy = Efficacy(evaluators=LIGHT)(tables, rng())

        assert affinity.value == 0.0
        assert utility.value == 1.0
        assert efficacy.value == efficacy.baselines["SELF"]

    @pytest.mark.thorough
    def test_so_does_training_for_a_number(self):
        tables = judged(table(1), "z")

        assert Affinity(evaluators=LIGHT)(tables, rng()).value == 0.0
        efficacy = Efficacy(target="number", evaluators=LIGHT)(tables, rng())
        assert efficacy.value == efficacy.baselines["SELF"]
        assert efficacy.direction == "lower"

    def test_numbers_are_brought_to_a_normal_distribution_by_the_real_ones(self):
        skewed = table(1).assign(z=np.exp(table(1)["z"]), x=table(1)["x"] ** 3 / 10)
        skewed.loc[:9, "x"] = np.nan
        tables = compare(skewed, skewed, holdout=skewed, target="z", schema=SCHEMA)
        plain, normal = (Encoding(tables, normal=normal).sample(tables.real) for normal in (False, True))

        for before, after in ((plain.y, normal.y), (plain.x[10:, 0], normal.x[10:, 0])):
            assert abs(np.median(after)) < 0.2
            assert after.std() == pytest.approx(1, abs=0.2)
            assert (np.diff(after[np.argsort(before)]) > -1e-3).all()  # but for single precision
        assert (normal.x[:10, 0] == 0).all()
        assert (normal.x[:, 1:] == plain.x[:, 1:]).all()
        assert Encoding(tables, normal=True).sample(tables.real.take(np.arange(0))).y.size == 0

    @pytest.mark.thorough
    def test_independent_columns_lose_more_than_a_fresh_sample(self):
        made = table(1)
        apart = made.apply(lambda column: column.sample(frac=1, random_state=len(column.name)).to_numpy())
        apart["y"] = made["y"].sample(frac=1, random_state=5).to_numpy()

        fresh = Affinity(evaluators=LIGHT)(judged(table(3)), rng())
        lost = Affinity(evaluators=LIGHT)(judged(apart), rng())

        assert fresh.value < 0.1 < lost.value

    @pytest.mark.thorough
    def test_models_of_a_learnable_table_learn_it(self):
        score = Efficacy(evaluators=LIGHT)(judged(table(3)), rng())

        assert score.value > 0.9
        assert score.facts["auc (synthetic)"] > 0.95
        assert set(score.details) == {(key,) for key in LIGHT}

    @pytest.mark.thorough
    def test_the_same_seed_gives_the_same_score(self):
        tables = judged(table(3))

        assert Efficacy(evaluators=LIGHT)(tables, rng()) == Efficacy(evaluators=LIGHT)(tables, rng())


class TestHardTables:
    @pytest.mark.thorough
    def test_a_table_of_one_class_is_scored_as_a_constant_prediction(self):
        constant = table(3).assign(y="no")
        tables = judged(constant)

        score = Efficacy(evaluators=("forest", "linear"))(tables, rng())

        share = (table(2)["y"] == "no").mean()
        assert score.facts["accuracy (synthetic)"] == pytest.approx(share)
        assert score.facts["auc (synthetic)"] == 0.5
        assert score.value == pytest.approx(2 * share / (1 + share) / 2)

    @pytest.mark.thorough
    def test_a_class_that_training_lacks_is_never_predicted(self):
        tables = judged(table(3, classes=2), classes=3)
        encoding = Encoding(tables)
        missing = tables.categories["y"].index("perhaps")

        for key in EVALUATORS.keys() - {"transformer", "catboost"}:
            model = evaluator(key).make(encoding.task, {}, 0)
            said = predictions(
                model, encoding.task, encoding.sample(tables.synthetic), encoding.sample(tables.holdout)
            )
            assert missing not in said.values
            if said.probabilities is not None:
                assert (said.probabilities[:, missing] == 0).all()
                assert said.probabilities.sum(axis=1) == pytest.approx(np.ones(300))

    def test_missing_features_are_features_and_records_without_target_are_left_out(self):
        made = table(3)
        made.loc[:50, "x"], made.loc[40:60, "y"] = np.nan, None
        tables = judged(made)
        encoding = Encoding(tables)

        sample = encoding.sample(tables.synthetic)

        assert sample.y.size == 300 - 21
        assert encoding.task == Task(n_classes=2, n_numbers=3, categories=(3,))
        assert sample.x[:40, 2].tolist() == [1.0] * 40
        assert np.isfinite(sample.x).all()

    @pytest.mark.parametrize(
        "metric", [Affinity(evaluators=LIGHT), PredictiveUtility(), Efficacy(evaluators=LIGHT)]
    )
    def test_a_target_without_any_value_gives_a_reason(self, metric):
        empty = table(1).assign(y=None)

        score = metric(compare(empty, empty, holdout=empty, target="y"), rng())

        assert np.isnan(score.value)
        assert score.note == "a table has no known target"

    @pytest.mark.parametrize(
        "metric", [Affinity(evaluators=LIGHT), PredictiveUtility(), Efficacy(evaluators=LIGHT)]
    )
    def test_a_target_with_a_single_value_gives_a_reason(self, metric):
        same = table(1).assign(y="a")

        score = metric(compare(same, table(2), holdout=same, target="y"), rng())

        assert np.isnan(score.value)
        assert score.note == "the target has a single value in the real table"

    @pytest.mark.thorough
    def test_without_target_or_holdout_there_is_no_value_but_a_reason(self):
        for key in ["efficacy", "efficacy-rmse", "affinity", "predictive-utility"]:
            metric = describe_metric(key).make()

            for tables in (
                compare(table(1), table(3), schema=SCHEMA),
                compare(table(1), table(3), schema=SCHEMA, target="y"),
                compare(table(1), table(3), schema=SCHEMA, holdout=table(2)),
            ):
                score = metric(tables, rng())
                assert np.isnan(score.value)
                assert "target" in score.note

    @pytest.mark.thorough
    @pytest.mark.parametrize("metric", [Affinity, Efficacy])
    def test_long_tables_are_learned_from_and_predicted_in_a_sample(self, metric):
        tables = judged(table(3))

        assert metric(evaluators=LIGHT, max_rows=100)(tables, rng()).facts["tested"] == 100
        assert metric(evaluators=LIGHT, max_rows=999)(tables, rng()).facts["tested"] == 300

    def test_a_class_is_no_number_and_a_number_no_class(self):
        by_class, by_number = judged(table(3), "y"), judged(table(3), "z")

        for score in (
            Efficacy(target="number")(by_class, rng()),
            Efficacy()(by_number, rng()),
            PredictiveUtility()(by_number, rng()),
        ):
            assert np.isnan(score.value)
            assert "number" in score.note or "class" in score.note


class TestEvaluators:
    @pytest.mark.thorough
    @pytest.mark.parametrize("key", [*EVALUATORS])
    @pytest.mark.parametrize("target", ["y", "z"])
    def test_each_learns_a_class_and_a_number(self, key, target):
        pytest.importorskip(
            {"transformer": "torch", "xgboost": "xgboost", "catboost": "catboost"}.get(key, "sklearn")
        )
        tables = judged(table(3, classes=3), target, classes=3)
        encoding = Encoding(tables)
        train, test = encoding.sample(tables.synthetic), encoding.sample(tables.holdout)
        settings = {"transformer": {"learning_rate": 1e-2}, "mlp": {"learning_rate_init": 0.01}}.get(key, {})

        model = evaluator(key).make(encoding.task, settings, 1)
        said = predictions(model, encoding.task, train, test).values

        if target == "y":
            assert (said == test.y).mean() > 0.8
        else:
            assert np.mean((said - test.y) ** 2) < 0.4 * test.y.var()

    @pytest.mark.parametrize(
        ("key", "module"), [("xgboost", "xgboost"), ("transformer", "torch"), ("svm", "sklearn.svm")]
    )
    def test_one_whose_library_is_missing_says_which_extra_to_install(self, key, module, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, module, None)

        with pytest.raises(MissingExtraError, match=r"syntabula\[(evaluate|neural)\]"):
            Affinity(evaluators=(key,))(judged(table(3)), rng())

    @pytest.mark.parametrize("metric", [Efficacy(), Affinity()])
    def test_all_missing_libraries_are_named_before_any_model_is_trained(self, metric, monkeypatch):
        import sys

        for module in ("catboost", "torch", "sklearn.ensemble"):
            monkeypatch.setitem(sys.modules, module, None)

        with pytest.raises(MissingExtraError) as caught:
            metric(judged(table(3)), rng())

        names = "catboost and transformer" if "transformer" in metric.evaluators else "catboost"
        extras = "catboost,neural" if "transformer" in metric.evaluators else "catboost"
        assert f"the library of {names} is not installed" in str(caught.value)
        assert f'pip install "syntabula[{extras}]", or set evaluators to (' in str(caught.value)

    def test_evaluators_whose_libraries_are_there_do_without_the_others(self, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, "catboost", None)

        score = Efficacy(evaluators=("tree", "linear"))(judged(table(3)), rng())

        assert score.value > 0.8

    def test_settings_that_make_no_sense_are_refused(self):
        for make in [
            lambda: Efficacy(evaluators=("svn",)),
            lambda: Affinity(evaluators=()),
            lambda: Efficacy(max_rows=0),
        ]:
            with pytest.raises(ArgumentError):
                make()


class FarOff:
    """Predicts the mean and something more."""

    def __init__(self, by: float) -> None:
        self.by = by

    def fit(self, x, y):
        self.mean = y.mean()

    def predict(self, x):
        return np.full(len(x), self.mean + 100 * self.by)


class TestTuning:
    @pytest.fixture(autouse=True)
    def with_optuna(self) -> None:
        pytest.importorskip("optuna", reason="the extra tune is not installed")

    def test_settings_are_searched_once_and_kept(self, tmp_path):
        tables = judged(table(3))
        metric = Affinity(evaluators=("tree",), tuned=True, n_trials=4, cache=tmp_path)

        first = metric(tables, rng())
        (kept,) = tmp_path.iterdir()
        written = kept.stat().st_mtime_ns
        again = metric(tables, rng())

        assert first == again
        assert kept.stat().st_mtime_ns == written

    @pytest.mark.thorough
    def test_they_lie_in_the_space_and_differ_for_other_rows(self, tmp_path):
        encoding = Encoding(judged(table(3)))
        judge = evaluator("tree")

        for seed in (1, 3):
            sample = encoding.sample(judged(table(seed)).synthetic)
            settings = tuned_settings(judge, encoding.task, sample, n_trials=3, cache=tmp_path)
            assert set(settings) == {"max_depth", "min_samples_split", "min_samples_leaf"}
            assert 4 <= settings["max_depth"] <= 64

        assert len(list(tmp_path.iterdir())) == 2

    @pytest.mark.thorough
    def test_later_settings_are_suggested_by_earlier_scores(self, tmp_path):
        tried: list[float] = []

        def make(task, settings, seed):
            tried.append(settings["share"])
            return FarOff(by=abs(settings["share"] - 0.8))

        tables = judged(table(3), "z")
        encoding = Encoding(tables)
        judge = Evaluator(key="far-off", make=make, space={"share": Range(low=0.0, high=1.0)})
        settings = tuned_settings(
            judge, encoding.task, encoding.sample(tables.real), n_trials=60, cache=tmp_path
        )

        # Of random trials a fifth would lie there, and 26 or more of 50 with a probability below 1e-6.
        assert sum(abs(share - 0.8) < 0.1 for share in tried[10:]) >= 26
        assert abs(settings["share"] - 0.8) < 0.03

    def test_a_damaged_file_is_named(self, tmp_path):
        encoding = Encoding(judged(table(3)))
        sample = encoding.sample(judged(table(3)).synthetic)
        tuned_settings(evaluator("tree"), encoding.task, sample, n_trials=1, cache=tmp_path)
        (kept,) = tmp_path.iterdir()
        kept.write_text("{", encoding="utf-8")

        with pytest.raises(ArgumentError, match=kept.name):
            tuned_settings(evaluator("tree"), encoding.task, sample, n_trials=1, cache=tmp_path)

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("key", "target"),
        [*((key, "y") for key in EVALUATORS), *((key, "z") for key in ("svm", "mlp", "tree"))],
    )
    def test_the_settings_of_every_space_are_known(self, key, target):
        pytest.importorskip(
            {"transformer": "torch", "xgboost": "xgboost", "catboost": "catboost"}.get(key, "sklearn")
        )
        task, judge = Encoding(judged(table(3), target)).task, evaluator(key)
        ends = {name: tried.ends for name, tried in judge.space.items()}

        for place in range(max(map(len, ends.values()))):
            settings = {name: values[place % len(values)] for name, values in ends.items()}
            assert judge.make(task, settings, 0) is not None


class TestTransformer:
    @pytest.mark.thorough
    def test_it_repeats_itself_and_leaves_the_global_generator_alone(self):
        torch = pytest.importorskip("torch")
        encoding = Encoding(judged(table(3)))
        sample = encoding.sample(judged(table(3)).synthetic)
        before = torch.get_rng_state()

        said = [
            evaluator("transformer")
            .make(encoding.task, {"most_epochs": 1}, 5)
            .fit(sample.x, sample.y)
            .predict_proba(sample.x)
            for _ in range(2)
        ]

        assert np.array_equal(*said)
        assert torch.equal(before, torch.get_rng_state())


def test_the_scores_of_classes_are_those_of_their_definitions():
    task = Task(n_classes=3, n_numbers=0, categories=())
    test = Sample(np.zeros((10, 0), np.float32), np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 2]))
    said = Predictions(np.array([0, 0, 0, 0, 0, 1, 1, 1, 0, 0]), None)

    found = class_scores(task, test, said)

    # Twice the right ones over what was said and what is there, of each class.
    first, second, third = 10 / (7 + 6), 4 / (3 + 3), 0.0
    assert found["f1"] == pytest.approx((first + second + third) / 3)
    assert found["weighted_f1"] == pytest.approx(0.6 * first + 0.3 * second + 0.1 * third)
    assert found["accuracy"] == pytest.approx(0.7)
    assert np.isnan(found["auc"])
