from __future__ import annotations

import json
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


class TestUsageErrors:
    @pytest.mark.parametrize("words", [["nonsense"], ["synth"], ["sample", "x"], ["methods", "--unknown"]])
    def test_wrong_words_are_exit_2_with_one_line_and_a_pointer_to_help(self, run, words):
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

    def test_json_holds_the_same(self, run):
        ran = run("methods", "--json")

        listed = {kind: [info["key"] for info in infos] for kind, infos in json.loads(ran.out).items()}
        assert listed == {
            "methods": [info.key for info in syntabula.list_synthesizers()],
            "selectors": [info.key for info in syntabula.list_selectors()],
            "models": [info.key for info in syntabula.list_models()],
            "discretizers": ["uniform", "quantile", "kmeans", "privtree"],
        }
