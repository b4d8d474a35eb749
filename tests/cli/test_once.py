from __future__ import annotations

import pytest


class TestOptions:
    @pytest.mark.parametrize(
        ("words", "name"),
        [
            (("--epsilon", "1", "--epsilon", "2"), "--epsilon"),
            (("-e", "1", "--epsilon=1"), "--epsilon"),
            (("-s", "schema.yaml"), "--schema"),
            (("--seed=1", "--seed=1"), "--seed"),
            (("--method", "mst", "-m", "aim"), "--method"),
            (("--out", "other.csv"), "--out"),
            (("--bins=8", "--bins=9", "--bins=10"), "--bins"),
        ],
    )
    def test_that_are_repeated_are_refused(self, folder, run, words, name):
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
