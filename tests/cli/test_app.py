from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest

import syntabula
from syntabula.cli.app import _flags_first

COMMANDS = ("synth", "plan", "sample", "info", "methods", "schema", "demo")


class TestHelp:
    def test_help_names_every_command_and_every_exit_code(self, run):
        ran = run("--help")

        assert ran.code == 0
        assert all(command in ran.out for command in COMMANDS)
        assert "Exit codes: 0 done" in ran.out
        assert "130" in ran.out

    def test_no_words_at_all_show_the_help(self, run):
        assert run() == run("--help")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_help(self, run, command):
        ran = run(command, "--help")

        assert ran.code == 0
        assert f"syntabula {command}" in ran.out

    def test_version_is_that_of_the_package(self, run):
        assert run("--version").out == f"syntabula {syntabula.__version__}\n"

    def test_the_module_can_be_run(self):
        done = subprocess.run(
            [sys.executable, "-m", "syntabula", "--version"], capture_output=True, text=True
        )

        assert (done.returncode, done.stdout) == (0, f"syntabula {syntabula.__version__}\n")

    @pytest.mark.thorough
    @pytest.mark.skipif(os.name == "nt", reason="closes streams by a shell of Unix")
    @pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
    def test_streams_that_the_caller_closed_are_as_the_null_device(self, closed, tmp_path):
        """Else the next file that is opened would take their numbers, and what is said."""
        command = [sys.executable, "-m", "syntabula"]
        line = f"{shlex.join([*command, 'methods'])} && {shlex.join([*command, 'info', 'none.syn'])}"

        done = subprocess.run(
            ["sh", "-c", f"({line}) {closed}"], capture_output=True, text=True, cwd=tmp_path, check=False
        )

        assert done.returncode == 6
        assert ("margnet" in done.stdout) == (">&-" not in closed.split())
        assert done.stderr.startswith("error: cannot read 'none.syn'") == ("2>&-" not in closed)
        assert "error" not in done.stdout

    def test_control_characters_of_a_release_do_not_reach_the_terminal(self, run, tmp_path):
        text = "\x1b[2J\x9b1m\x07\x7f"
        frame = pytest.importorskip("pandas").DataFrame({text: ["a", "b"] * 50})
        schema = syntabula.Schema({text: syntabula.Categorical(("a", "b"))})
        path = tmp_path / "r.syn"
        syntabula.Independent(epsilon=1.0, delta=1e-6, seed=1).fit(frame, schema).save(path)

        for words in (["info", path], ["--json", "info", path]):
            ran = run(*words)

            assert ran.code == 0
            assert all(c == "\n" or c.isprintable() for c in ran.out + ran.err)
            assert "\\u001b[2J\\u009b1m\\u0007\\u007f" in ran.out
        assert json.loads(ran.out)["statement"]["provenance"] == {text: "public"}


class TestUsageErrors:
    def test_wrong_words_are_exit_2_with_one_line_and_a_pointer_to_help(self, run):
        for words in [["nonsense"], ["synth"], ["methods", "--unknown"]]:
            ran = run(*words)

            assert ran.code == 2
            assert ran.err.startswith("error: ")
            assert ran.err.count("\n") == 1
            assert "--help" in ran.err
            assert ran.out == ""

    def test_a_misspelt_command_gets_the_nearest_one_in_a_plain_sentence(self, run):
        assert "synt'; did you mean 'synth'; see `syntabula --help`" in run("synt", "people.csv").err


class TestCommonFlags:
    def test_flags_may_stand_anywhere_before_a_double_dash(self):
        words = ["synth", "a", "--json", "-o", "b", "--quiet", "--", "--debug"]

        assert _flags_first(words) == ["--json", "--quiet", "synth", "a", "-o", "b", "--", "--debug"]


class TestMethods:
    def test_all_synthesizers_are_listed(self, run):
        ran = run("methods")

        assert all(info.key in ran.out for info in syntabula.list_synthesizers())

    @pytest.mark.parametrize(
        ("alias", "key"), [("dp-ctgan", "ctgan"), ("DP-TabDDPM", "tabddpm"), ("dp_synthpop", "synthpop")]
    )
    def test_private_forms_have_the_names_of_the_papers(self, run, alias, key):
        line = next(line for line in run("methods").out.splitlines() if line.startswith(f"  {key} "))

        assert f"also named dp-{key}" in line
        assert syntabula.synthesizer(alias) is syntabula.synthesizer(key)
        assert run("methods", alias).out == run("methods", key).out
        assert syntabula.method_options(alias) == syntabula.method_options(key)
        with pytest.raises(syntabula.errors.ArgumentError, match="the name 'dp-ctgan' belongs to"):
            syntabula.register("synthesizer", "dp-ctgan")(type("Other", (syntabula.Independent,), {}))

    def test_json_holds_the_same(self, run):
        ran = run("methods", "--json")

        listed = {kind: [info["key"] for info in infos] for kind, infos in json.loads(ran.out).items()}
        assert listed == {
            "methods": [info.key for info in syntabula.list_synthesizers()],
            "selectors": [info.key for info in syntabula.list_selectors()],
            "models": [info.key for info in syntabula.list_models()],
            "discretizers": ["uniform", "quantile", "kmeans", "privtree", "fine", "usual"],
        }


class TestOptions:
    def test_that_are_repeated_are_refused(self, folder, run):
        for words, name in [
            (("--epsilon", "1", "--epsilon", "2"), "--epsilon"),
            (("-e", "1", "--epsilon=1"), "--epsilon"),
            (("-s", "schema.yaml"), "--schema"),
            (("--out", "other.csv"), "--out"),
            (("--bins=8", "--bins=9", "--bins=10"), "--bins"),
        ]:
            ran = run("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv", *words)

            assert ran.code == 2
            assert ran.err.startswith(f"error: {name} is given ")
            assert not (folder / "out.csv").exists()

    def test_of_one_name_are_refused_and_of_two_are_not(self, folder, run):
        command = ("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv", "--quiet", "--force")

        twice = run(*command, "--option", "iterations=100", "--option", "iterations=200")
        both = run(*command, "--option", "iterations=100", "--option", "tolerance=0.01")

        assert (twice.code, both.code) == (2, 0)
        assert "--option iterations is given twice" in twice.err

    def test_that_are_flags_may_be_repeated(self, folder, run):
        command = ("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv", "--quiet")

        assert run(*command, "--pure", "--pure", "--force", "--force").code == 0

    def test_of_methods_are_read_as_they_are_typed(self, folder, run):
        command = ("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv")
        for value, words in {
            "iterations=010": "begins with a zero",
            "iterations=1_000": "underscores",
            "iterations=0x10": "another base",
            "iterations=12:30": "base 60",
            "stop_at_noise=no": "true or false; got 'no'",
            "iterations=!!python/name:os.abort": "tags",
        }.items():
            ran = run(*command, "--option", value)

            assert ran.code == 2, value
            assert words in ran.err
            assert value.partition("=")[0] in ran.err
