"""A selector and a model by command, instead of a named method."""

from __future__ import annotations

import json

import pytest

PAIR = ("--selector", "given", "--model", "pgm")
SYNTH = ("synth", "people.csv", "-o", "out.csv", "--schema", "schema.yaml")


def test_a_pair_makes_a_table_and_the_statement_names_it(folder, run):
    ran = run("--json", *SYNTH, *PAIR, "--option", "workload=[[age, job], [sex]]")

    assert ran.code == 0, ran.err
    statement = json.loads(ran.out)["statement"]
    assert statement["method"] == "given+pgm"
    assert "measure the workload" in {step["step"] for step in statement["steps"]}
    assert (folder / "out.csv").exists()


def test_a_plan_takes_the_same_pair(folder, run):
    ran = run("plan", "--schema", "schema.yaml", "--selector", "all_pairs", "--model", "pgm")

    assert ran.code == 0, ran.err
    assert "Plan for method all_pairs+pgm" in ran.out
    assert "measure all pairs" in ran.out


def test_selectors_and_models_are_listed(run):
    ran = run("methods")

    assert "Selectors, for --selector:" in ran.out
    assert "all_pairs" in ran.out
    assert "Models, for --model:" in ran.out
    assert "Discretizers, for --discretizer:" in ran.out


@pytest.mark.parametrize(
    ("name", "title", "option"),
    [
        ("all_pairs", "Selector all_pairs, for --selector all_pairs --model MODEL. Every pair", None),
        ("adaptive", "Selector adaptive, for --selector adaptive", "--option max_rounds="),
        ("gum", "Model gum, for --selector SELECTOR --model gum. Records", "--option passes=50"),
        ("kmeans", "Discretizer kmeans, for --discretizer kmeans. Cells", None),
    ],
)
def test_parts_of_methods_are_described_as_methods_are(run, name, title, option):
    ran = run("methods", name)

    assert ran.code == 0, ran.err
    assert ran.out.startswith(title)
    assert option is None or option in ran.out
    assert "iterations" not in ran.out  # of the model pgm


def test_an_option_of_two_parts_is_explained_in_each(run):
    ran = run("methods", "argn")

    assert ran.code == 0, ran.err
    usual, _, noisy = ran.out.partition("Options of the training with noise, as a budget asks for")
    assert "--option steps=null\n        At most so many batches; None for 30 passes" in usual
    assert (
        "--option steps=null\n        Exactly so many; None for 300 times the square root of epsilon" in noisy
    )


def test_the_options_of_a_pair_are_listed(run):
    ran = run("methods", *PAIR)

    assert ran.code == 0, ran.err
    assert "--option workload=2" in ran.out
    assert "--option stop_at_noise=True" in ran.out


def test_a_wrong_pair_is_exit_2_before_anything_is_spent(folder, run):
    for words, message in [
        (("--selector", "given"), "must be given together"),
        (("--model", "pgm"), "must be given together"),
        ((*PAIR, "--method", "aim"), "give --method, or --selector and --model, not both"),
        (("--selector", "adaptive", "--model", "bayesian_network"), "one set of parents"),
        (("--selector", "givn", "--model", "pgm"), "did you mean 'given'"),
        ((*PAIR, "--option", "max_rounds=3"), "no option 'max_rounds'"),
    ]:
        ran = run(*SYNTH, *words, "--journal", "journal.jsonl")

        assert ran.code == 2
        assert message in ran.err
        assert not (folder / "journal.jsonl").exists()
