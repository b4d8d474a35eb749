"""Names that are taken: what becomes of a plug-in that has the name of another part."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import syntabula as st
from syntabula import _register, metrics
from syntabula._entries import BUILT_IN, KINDS, UNLISTED, Kind
from syntabula.errors import ArgumentError, PluginWarning
from syntabula.models import base

TAKEN: list[tuple[Kind, str, str]] = [
    ("synthesizer", "aim", "the method 'aim'"),
    ("synthesizer", "DP_CTGAN", "the method 'ctgan'"),
    ("synthesizer", "margnetq", "the method 'margnet-q'"),
    ("synthesizer", "RAPPlusPlus", "the method 'rap++'"),
    ("selector", "SpanningTree", "the selector 'spanning_tree'"),
    ("selector", "one-way", "the selector 'one_way'"),
    ("model", "pgm", "the model 'pgm'"),
    ("model", "adversarial", "the model of records 'adversarial'"),
    ("model", "recoded", "the model 'recoded'"),
    ("record_model", "pgm", "the model 'pgm'"),
    ("discretizer", "quantile", "the discretizer 'quantile'"),
    ("discretizer", "uniform", "the discretizer 'uniform'"),
    ("metric", "tvd-1", "the metric 'tvd-1'"),
    ("attack", "groundhog", "the attack 'groundhog'"),
    ("attack", "disclosure", "the attack 'disclosure'"),
    ("study_collection", "margnet", "the collection of studies 'margnet'"),
]


def install(folder: Path, package: str, kind: Kind, line: str) -> Path:
    """Lay a package out as pip would, with one entry point; return the folder of its facts."""
    facts = folder / f"{package}-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[syntabula.{kind}s]\n{line}\n")
    return facts


def listed(kind: Kind) -> list[tuple[str, str]]:
    return [(entry.key, entry.home) for entry in _register.entries(kind)]


@pytest.fixture(autouse=True)
def nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_register, "_of_session", {})
    _register._tell_ignored.cache_clear()


@pytest.mark.parametrize(("kind", "name", "part"), TAKEN)
def test_a_plug_in_with_the_name_of_a_built_in_part_is_told_once_and_left_out(
    kind: Kind, name: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listed(kind)
    install(tmp_path, "other-parts", kind, f"{name} = other_parts:Part")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.warns(PluginWarning) as told:
        found = listed(kind)

    assert found == before
    assert [str(warning.message) for warning in told] == [
        f"the entry point '{name} = other_parts:Part' (syntabula.{kind}s) of the package other-parts is ignored, as "
        f"{part} of syntabula has this name; give it a name of its own in that package, or remove the package"
    ]
    assert Path(told[0].filename) == Path(__file__)
    # Any other warning would be an error here.
    assert listed(kind) == before


def test_of_two_plug_ins_of_one_name_the_second_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "one", "first-parts", "selector", "chain = first_parts:Chain")
    install(tmp_path / "two", "second-parts", "selector", "chain = second_parts:Chain")
    for folder in ("two", "one"):
        monkeypatch.syspath_prepend(str(tmp_path / folder))

    with pytest.warns(
        PluginWarning,
        match=r"second_parts:Chain' .* second-parts is ignored, as .*'chain' of first-parts has",
    ):
        found = listed("selector")

    assert ("chain", "first_parts:Chain") in found
    assert ("chain", "second_parts:Chain") not in found


def test_a_model_of_a_plug_in_stands_for_no_model_of_ours_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {kind: base.model_class(kind) for kind in ("adversarial", "recoded", "pgm")}
    for kind in before:
        install(tmp_path, f"other-{kind}", "model", f"{kind} = no_module:Part")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.warns(PluginWarning):
        found = {kind: base.model_class(kind) for kind in before}

    assert found == before


@pytest.mark.parametrize(("kind", "name", "part"), TAKEN)
def test_a_session_takes_no_name_of_ours_either(kind: Kind, name: str, part: str) -> None:
    original = object if kind == "metric" else _register.load(kind, _register.entries(kind)[0].key)
    facts = {"__module__": __name__, "group": "fidelity", "direction": "lower", "__call__": print}
    session = type("Mine", (original,), facts)

    with pytest.raises(ArgumentError, match=f"the name '{name}' belongs to syntabula"):
        st.register(kind, name)(session)


def test_of_two_names_that_stand_for_each_other_a_session_takes_the_first_alone() -> None:
    original = _register.load("selector", "one_way")
    first, second = (type(name, (original,), {"__module__": __name__}) for name in ("First", "Second"))
    st.register("selector", "my-own")(first)

    for name in ("my_own", "My-Own"):
        with pytest.raises(ArgumentError, match=f"the name '{name}' belongs to .*test_register:First"):
            st.register("selector", name)(second)

    assert _register.load("selector", "my_own") is first
    # A notebook's cell that runs again with the other spelling.
    again = st.register("selector", "my_own")(type("First", (original,), {"__module__": __name__}))
    assert _register.load("selector", "my-own") is again


def test_no_two_parts_of_ours_have_one_name() -> None:
    for kind in KINDS:
        ours = [e for e in (*BUILT_IN, *UNLISTED, *metrics.registry.BUILT_IN) if e.kind == kind]
        names = [name.lower().replace("-", "_") for e in ours for name in (e.key, *e.aliases)]

        assert sorted(set(names)) == sorted(names)


def test_a_command_says_it_in_one_line(tmp_path: Path) -> None:
    install(tmp_path, "other-parts", "selector", "one_way = other_parts:Part")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    done = subprocess.run(
        [sys.executable, "-m", "syntabula", "methods"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: the entry point 'one_way = other_parts:Part' (syntabula.selectors) of the package other-parts is "
        "ignored, as the selector 'one_way' of syntabula has this name; give it a name of its own in that package, or "
        "remove the package"
    ]


def test_a_plug_in_with_a_name_of_its_own_is_not_spoken_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "other-parts", "selector", "chain = other_parts:Chain")
    monkeypatch.syspath_prepend(str(tmp_path))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ("chain", "other_parts:Chain") in listed("selector")


def test_a_name_that_is_taken_stops_nothing_but_what_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, name in (
        ("synthesizer", "aim"),
        ("selector", "one_way"),
        ("model", "pgm"),
        ("metric", "tvd-1"),
    ):
        install(tmp_path, f"other_{kind}s", kind, f"{name} = other_parts:Part")  # type: ignore[arg-type]
    install(tmp_path, "other_bins", "discretizer", "quantile = other_parts:Part")
    monkeypatch.syspath_prepend(str(tmp_path))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.Marginal(selector="spanning_tree", model="gum")
        st.Preprocessing(discretizer="privtree")
        assert st.synthesizer("MST") is st.MST
        assert base.model_class("gum").kind == "gum"
        assert metrics.registry.describe_metric("tvd-2").key == "tvd-2"
        for ask in (
            lambda: st.synthesizer("aim"),
            lambda: st.Marginal(selector="one_way", model="gum"),
            lambda: st.Preprocessing(discretizer="quantile"),
            lambda: base.model_class("pgm"),
            lambda: metrics.registry.describe_metric("tvd-1"),
        ):
            with pytest.raises(PluginWarning, match="is ignored"):
                ask()
