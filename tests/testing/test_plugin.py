"""A package that adds a selector, a model, a metric and a discretizer by entry points, used by name everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import syntabula as st
from syntabula import testing
from syntabula.errors import ArgumentError
from syntabula.models.pgm import PGM

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))


def test_every_part_passes_the_battery() -> None:
    import example_plugin as plugin

    testing.check_selector(plugin.Chain(closed=True))
    testing.check_model(plugin.PatientPGM())
    testing.check_discretizer(plugin.HalvedBins())
    testing.check_metric(plugin.RowCount())


@pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
def test_parts_are_found_by_name_with_their_options_and_come_back_from_a_file(tmp_path: Path) -> None:
    frame, schema = st.datasets.census(n_rows=200), st.datasets.schema_of("census")
    halved = st.Preprocessing(discretizer="halved")
    method = st.Marginal(selector="chain", model="patient-pgm", preprocessing=halved, seed=1)

    release = method.with_options(closed=True).fit(frame, schema)
    release.save(tmp_path / "chain.syn")

    assert release.method == "chain+patient-pgm"
    loaded = st.load(tmp_path / "chain.syn")
    assert loaded.sample(20, seed=1).equals(release.sample(20, seed=1))
    scores = st.evaluate(frame, release.sample(100, seed=1), metrics=["row-count"])
    assert scores.score("row-count").value == 0.5


def test_a_file_of_a_plug_in_that_is_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = st.datasets.census(n_rows=100), st.datasets.schema_of("census")
    st.Marginal(selector="one_way", model="patient-pgm", seed=1).fit(frame, schema).save(tmp_path / "x.syn")
    monkeypatch.undo()

    with pytest.raises(st.errors.ReleaseFileError, match="install that plug-in"):
        st.load(tmp_path / "x.syn")


def test_a_plug_in_does_not_take_the_place_of_one_of_ours() -> None:
    impostor = type("PGM", (PGM,), {})
    with pytest.raises(ArgumentError, match="the name 'pgm' belongs to syntabula"):
        st.register("model", "pgm")(impostor)


def test_a_program_that_uses_the_arguments_of_a_method_is_checked_by_a_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    right = tmp_path / "right.py"
    right.write_text(
        "import syntabula\n"
        "from syntabula.select.adaptive import Adaptive\n\n"
        "method = syntabula.AIM(epsilon=1.0, selector=Adaptive(max_rounds=3), seed=1)\n"
        "limit: float = method.selector.max_model_mb\n"
        'other = syntabula.Marginal(selector="adaptive", model="pgm").with_options(max_rounds=3)\n'
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import syntabula\n\n"
        'syntabula.AIM(epsilom=1.0)\nsyntabula.MST(epsilon="much")\nsyntabula.AIM(selector=3)\n'
    )

    def checked(path: Path) -> str:
        words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(path)]
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path).stdout

    assert "Success" in checked(right)
    found = checked(wrong)
    assert 'Unexpected keyword argument "epsilom"' in found
    assert '"epsilon" to "MST" has incompatible type "str"' in found
    assert '"selector" to "AIM" has incompatible type "int"' in found
