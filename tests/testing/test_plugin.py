"""The package of `docs/plugins.md`: a part of each kind, used by name everywhere."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import _register, testing
from syntabula.errors import ArgumentError
from syntabula.models.pgm import PGM
from syntabula.plugins import Choice, tunable_part

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


def blocks(language: str) -> str:
    """Return all that the page has in a language, in order."""
    found = re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return "\n\n".join(found)


def files() -> dict[str, str]:
    """Return the page's Python files by name; the docstring of each begins with it."""
    parts = re.split(r'^(?="""\w+\.py: )', blocks("python"), flags=re.MULTILINE)
    return {part[3:].partition(":")[0]: part for part in parts if part}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay the package out as pip would."""
    folder = tmp_path_factory.mktemp("site")
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")
    project = tomllib.loads(blocks("toml"))["project"]
    facts = folder / "my_parts-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    (facts / "entry_points.txt").write_text(
        "\n".join(
            f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in named.items()) for group, named in groups
        )
    )
    return folder


@pytest.fixture(autouse=True)
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(package))
    yield
    for name in ("my_parts", "my_network"):
        sys.modules.pop(name, None)


def test_the_package_can_be_built_beside_its_tests(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="what builds the package is not installed")
    package, facts = tmp_path / "package", tmp_path / "facts"
    package.mkdir()
    facts.mkdir()
    for name, content in {**files(), "pyproject.toml": blocks("toml"), "test_parts.py": ""}.items():
        (package / name).write_text(content, encoding="utf-8")
    code = (
        "import sys; from setuptools import build_meta as b; b.prepare_metadata_for_build_wheel(sys.argv[1])"
    )

    built = subprocess.run(
        [sys.executable, "-c", code, str(facts)], cwd=package, capture_output=True, text=True
    )

    assert built.returncode == 0, built.stderr
    assert "hidden-columns = my_network:HiddenColumns" in next(
        facts.glob("*.dist-info/entry_points.txt")
    ).read_text(encoding="utf-8")
    listed = tomllib.loads(blocks("toml"))["tool"]["setuptools"]["py-modules"]
    assert [f"{name}.py" for name in listed] == [*files()]


@pytest.mark.thorough
def test_every_part_passes_the_battery() -> None:
    import my_parts

    testing.check_selector(my_parts.Chain())
    testing.check_selector(my_parts.Chain(), my_parts.Blurred())
    testing.check_model(my_parts.Blurred())
    testing.check_discretizer(my_parts.HalvedBins())
    testing.check_metric(my_parts.SeenTogether())
    testing.check_attack(my_parts.MostAlike())


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
def test_parts_are_found_by_name_with_their_options_and_come_back_from_a_file(tmp_path: Path) -> None:
    frame, schema = st.datasets.census(n_rows=200), st.datasets.schema_of("census")
    halved = st.Preprocessing(discretizer="halved")
    method = st.Marginal(selector="chain", model="blurred", preprocessing=halved, seed=1)

    release = method.with_options(pair_share=0.25, blur=0.1).fit(frame, schema)
    release.save(tmp_path / "chain.syn")

    assert release.method == "chain+blurred"
    loaded = st.load(tmp_path / "chain.syn")
    assert loaded.sample(20, seed=1).equals(release.sample(20, seed=1))
    assert st.evaluate(frame, frame, metrics=["seen-together"]).score("seen-together").value == 1.0
    found = st.attack(frame, st.attacks.Self(), schema, attacks=["most-alike"], n_shadows=8)["most-alike"]
    assert found.auc == 1.0
    assert "Plug-in of the package my-parts." in [entry.summary for entry in st.list_models()]


class TestTuning:
    """What the page's parts declare is searched, also by a method of one's own."""

    @pytest.fixture(autouse=True)
    def with_optuna(self) -> None:
        pytest.importorskip("optuna", reason="the extra tune is not installed")

    def searched(self, method: st.Marginal) -> list[dict[str, object]]:
        """Return the values of two trials."""
        found = st.tune(
            method,
            st.datasets.census(n_rows=120),
            schema=st.datasets.schema_of("census"),
            objective=st.Objective(weights={"tvd-2": 1.0}, metrics={}),
            trials=2,
            finalists=0,
            is_public=True,
        )
        assert [trial.state for trial in found.trials] == ["done", "done"]
        return [dict(trial.values) for trial in found.trials]

    @pytest.mark.thorough
    def test_options_of_its_parts_are_searched(self) -> None:
        for values in self.searched(st.Marginal(selector="chain", model="blurred")):
            assert {*values} == {"bins", "discretizer", "pair_share", "blur"}
            assert 0.2 <= values["pair_share"] <= 0.8

    @pytest.mark.thorough
    def test_a_method_searches_what_it_declares_instead(self) -> None:
        import my_parts

        @dataclass(frozen=True, kw_only=True)
        class Mine(st.Marginal):
            selector: my_parts.Chain = tunable_part(my_parts.Chain, pair_share=None)
            model: my_parts.Blurred = tunable_part(my_parts.Blurred, blur=Choice((0.5, 0.9)))

        for values in self.searched(Mine()):
            assert {*values} == {"bins", "discretizer", "blur"}
            assert values["blur"] in (0.5, 0.9)


class TestNetwork:
    """The page's network and its method, which learns from records."""

    @pytest.fixture(autouse=True)
    def with_torch(self) -> None:
        pytest.importorskip("torch")

    def method(self, **options: object) -> st.Marginal:
        even = st.Preprocessing(discretizer="uniform")
        return st.synthesizer("hidden")(**({"preprocessing": even, "seed": 2} | options)).with_options(
            units=16
        )

    @pytest.mark.thorough
    def test_it_passes_the_battery(self) -> None:
        import my_network

        testing.check_record_model(my_network.HiddenColumns(units=4))
        testing.check_synthesizer(lambda **given: self.method(**given).with_options(units=4, steps=3))

    @pytest.mark.thorough
    @pytest.mark.parametrize("epsilon", [math.inf, 10.0])
    def test_it_learns_a_dependence_with_and_without_a_budget_and_draws_given_values(
        self, epsilon: float
    ) -> None:
        side = np.random.default_rng(0).integers(0, 2, 2_000)
        frame = pd.DataFrame({"a": np.array(["x", "y"])[side], "b": np.array(["u", "v"])[side]})
        schema = st.Schema({"a": st.Categorical(("x", "y", "z")), "b": st.Categorical(("u", "v"))})
        method = self.method(epsilon=epsilon)
        if math.isfinite(epsilon):
            method = method.with_options(rate=0.1)
        method = replace(method, training=replace(method.training, learning_rate=1e-2))
        release = method.with_options(steps=100).fit(frame, schema)

        made = release.sample(1_000, seed=1)
        given = release.sample(given=pd.DataFrame({"a": ["y"] * 200}), seed=1)

        # Independent columns agree in half of the rows, with a standard deviation of 0.016.
        assert ((made["a"] == "x") == (made["b"] == "u")).mean() > 0.8
        assert (given["b"] == "v").mean() > 0.8

    @pytest.mark.thorough
    def test_a_plan_times_its_training_and_a_file_brings_it_back(self, tmp_path: Path) -> None:
        frame, schema = st.datasets.census(n_rows=200), st.datasets.schema_of("census")
        method = self.method(epsilon=2.0).with_options(steps=10)

        step = method.plan(schema, 10_000).steps[-1]
        release = method.fit(frame, schema)
        release.save(tmp_path / "hidden.syn")

        assert step.name == "train on the records"
        assert step.seconds > 0
        assert "10 steps on records sampled at rate" in " ".join(release.privacy.text().split())
        assert st.load(tmp_path / "hidden.syn").sample(20, seed=1).equals(release.sample(20, seed=1))

    @pytest.mark.thorough
    def test_an_interrupted_training_resumes_at_no_cost(self, tmp_path: Path) -> None:
        frame, schema = st.datasets.census(n_rows=200), st.datasets.schema_of("census")

        def stop(step: str, done: float) -> None:
            if step.startswith("train on the records") and done > 0.5:
                raise KeyboardInterrupt

        run = partial(self.method, epsilon=2.0)
        journal = tmp_path / "run.journal"
        with pytest.raises(KeyboardInterrupt):
            run(journal=journal, progress=stop).with_options(steps=50).fit(frame, schema)
        resumed = run(journal=journal, resume=True).with_options(steps=50).fit(frame, schema)
        whole = run().with_options(steps=50).fit(frame, schema)

        assert resumed.privacy.epsilon_spent == whole.privacy.epsilon_spent
        assert resumed.sample(50, seed=1).equals(whole.sample(50, seed=1))


def test_wrong_options_are_refused_before_anything_is_spent() -> None:
    for wrong in [{"blur": "much"}, {"blur": 2}, {"pair_share": 1}]:
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            st.Marginal(selector="chain", model="blurred").with_options(**wrong)


def test_a_file_of_a_plug_in_that_is_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = st.datasets.census(n_rows=100), st.datasets.schema_of("census")
    st.Marginal(selector="one_way", model="blurred", seed=1).fit(frame, schema).save(tmp_path / "x.syn")
    monkeypatch.undo()

    with pytest.raises(st.errors.ReleaseFileError, match="install that plug-in"):
        st.load(tmp_path / "x.syn")


def install(folder: Path, kind: str, line: str) -> Path:
    """Add a package with one entry point to a folder."""
    facts = folder / "broken-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[syntabula.{kind}s]\n{line}\n")
    return facts


def test_a_plug_in_that_is_installed_or_removed_in_a_session_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ArgumentError, match="there is no selector 'late'"):
        st.Marginal(selector="late", model="pgm")

    facts = install(tmp_path, "selector", "late = late_part:Late")
    (tmp_path / "late_part.py").write_text(
        "from my_parts import Chain\n\n\nclass Late(Chain):\n    key = 'late'\n"
    )
    # The folder changed; on a coarse clock, perhaps in the same tick.
    os.utime(tmp_path, (1, 1))
    assert st.Marginal(selector="late", model="pgm").name == "late+pgm"

    shutil.rmtree(facts)
    os.utime(tmp_path, (2, 2))
    with pytest.raises(ArgumentError, match="there is no selector 'late'"):
        st.Marginal(selector="late", model="pgm")


def test_entry_points_are_read_once_while_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    st.Marginal(selector="chain", model="blurred")
    read = []
    monkeypatch.setattr(_register.metadata, "entry_points", lambda **asked: read.append(asked))

    st.Marginal(selector="chain", model="blurred")

    assert read == []


@pytest.mark.parametrize(
    ("line", "make", "problem"),
    [
        (
            "chains = my_parts:Chain",
            lambda: st.Marginal(selector="chains", model="pgm"),
            "'my_parts:Chain', which is the selector 'chains', has the `key` 'chain'; give the entry point and the `key`",
        ),
        (
            "blur = my_parts:Blurred",
            lambda: st.Marginal(selector="one_way", model="blur"),
            "'my_parts:Blurred', which is the model 'blur', has the `kind` 'blurred'",
        ),
        (
            "seen = my_parts:SeenTogether",
            lambda: st.list_metrics(),
            "'my_parts:SeenTogether', which is the metric 'seen', has the `key` 'seen-together'",
        ),
        (
            "blurred = my_parts:Blurred",
            lambda: st.Marginal(selector="blurred", model="pgm"),
            "'my_parts:Blurred', which is the selector 'blurred', lacks the methods of a selector: plan, select, learn, "
            "within; it has those of a model",
        ),
    ],
)
def test_an_entry_point_must_have_the_name_and_the_kind_of_what_it_loads(
    line: str, make: Callable[[], object], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = re.search(r"which is the (\w+)", problem)[1]
    install(tmp_path, kind, line)
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ArgumentError, match=re.escape(problem)):
        make()


MAKE: dict[str, Callable[[], object]] = {
    "selector": lambda: st.Marginal(selector="broken", model="pgm"),
    "model": lambda: st.Marginal(selector="one_way", model="broken"),
    "discretizer": lambda: st.Preprocessing(discretizer="broken").fitted,
    "method": lambda: st.synthesizer("broken"),
}


# All kinds are loaded by the same lines: each meets one way to be broken, and one kind the others.
@pytest.mark.parametrize(
    ("kind", "home", "problem"),
    [
        (
            "selector",
            "no_such_module:Part",
            r"cannot be loaded \(ModuleNotFoundError: No module named '\w+'\); repair",
        ),
        (
            "model",
            "my_parts:NoPart",
            r"cannot be loaded \(AttributeError: module '[\w.]+' has no attribute '\w+'\); repair",
        ),
        *((kind, "my_parts:SeenTogether", "lacks the methods of a") for kind in MAKE),
        ("discretizer", "syntabula.version:__version__", "cannot be loaded"),
        ("method", "syntabula:NO_PRIVACY", "is not a class, but an object of type Budget"),
    ],
)
def test_a_broken_plug_in_is_named(
    kind: str, home: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, {"method": "synthesizer"}.get(kind, kind), f"broken = {home}")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ArgumentError, match=f"the plug-in '{home}', which is the {kind} 'broken', {problem}"):
        MAKE[kind]()


def test_a_part_that_cannot_be_made_by_its_name_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Sized(PGM):
        kind = "sized"

        width: int

    with pytest.raises(ArgumentError, match="Sized has fields without a default: width; give each one"):
        st.register("model")(Sized)


def test_a_plug_in_does_not_take_the_place_of_one_of_ours() -> None:
    impostor = type("PGM", (PGM,), {})
    with pytest.raises(ArgumentError, match="the name 'pgm' belongs to syntabula"):
        st.register("model", "pgm")(impostor)


LARGE = (
    *("torch", "transformers", "peft", "pandas", "polars", "pyarrow", "narwhals", "duckdb", "opendp"),
    *("scipy", "sklearn", "xgboost", "catboost", "optuna", "matplotlib", "jinja2", "rich", "typer"),
)


@pytest.mark.thorough
def test_programs_and_parts_are_checked_by_a_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    pytest.importorskip("torch")
    right = tmp_path / "right.py"
    right.write_text(
        "import syntabula\n"
        "from syntabula.select.adaptive import Adaptive\n\n"
        "method = syntabula.AIM(epsilon=1.0, selector=Adaptive(max_rounds=3), seed=1)\n"
        "limit: float = method.selector.max_model_mb\n"
        'other = syntabula.Marginal(selector="adaptive", model="pgm").with_options(max_rounds=3)\n'
    )
    parts = [tmp_path / name for name in files()]
    for path in parts:
        path.write_text(files()[path.name], encoding="utf-8")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import syntabula\n\n"
        'syntabula.AIM(epsilom=1.0)\nsyntabula.MST(epsilon="much")\nsyntabula.AIM(selector=3)\n'
    )

    # Of large libraries nothing is read, as that would take most of the time: only our own types are checked.
    skipped = "".join(
        f"[mypy-{library}.*]\nfollow_imports = skip\nignore_missing_imports = true\n" for library in LARGE
    )
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\n{skipped}[mypy-my_network]\ndisallow_subclassing_any = false\n"
    )
    # All at once, as each run would read the whole package.
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    words += map(str, (right, *parts, wrong))
    found = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path).stdout

    *errors, summary = found.splitlines()
    assert f"in 1 file (checked {len(parts) + 2} source files)" in summary, found
    assert all(error.startswith("wrong.py:") for error in errors)
    assert 'Unexpected keyword argument "epsilom"' in found
    assert '"epsilon" to "MST" has incompatible type "str"' in found
    assert '"selector" to "AIM" has incompatible type "int"' in found
