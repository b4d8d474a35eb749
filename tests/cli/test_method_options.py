"""Options of a method, by command."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from textwrap import dedent

import syntabula
from syntabula import AIM, method_options
from syntabula.cli.request import named_values, read_options
from syntabula.tuning.space import declared_space, space_of

SYNTH = ("synth", "people.csv", "-o", "out.csv", "--schema", "schema.yaml", "-m", "aim")


def test_the_options_of_a_method_are_listed(run):
    ran = run("methods", "aim")

    assert ran.code == 0
    assert "--option max_rounds=null" in ran.out
    assert "--option max_model_mb=80.0\n        Largest size of the model" in ran.out


def test_what_tune_tries_is_listed_as_a_file_has_it(folder, run):
    _, _, listed = run("methods", "aim").out.partition(
        "What tune tries, unless --space FILE.yaml says otherwise:\n"
    )
    (folder / "space.yaml").write_text(dedent(listed))

    space = read_options(folder / "space.yaml", "--space")
    assert space_of(space) == declared_space(AIM)
    assert json.loads(run("--json", "methods", "aim").out)["space"] == space


def test_defaults_are_values_of_json(run):
    options = json.loads(run("--json", "methods", "mst").out)["options"]

    assert options["selector"]["records_per_noise"] == 4.0
    assert options["model"]["stop_at_noise"] is True
    assert json.loads(run("--json", "methods", "synthpop").out)["options"]["model"]["first"] == []


def test_each_default_is_listed_as_an_option_takes_it(run):
    for entry in syntabula.list_synthesizers():
        method = syntabula.synthesizer(entry.key)
        listed = re.findall(r"^  --option (.*)$", run("methods", entry.key).out, re.MULTILINE)
        defaults = [default for named in method_options(method).values() for default in named.items()]

        assert len(listed) == len(defaults)
        for line, default in zip(listed, defaults, strict=True):
            changed = method(epsilon=math.inf).with_options(**named_values([line], "--option", "a=1"))
            options = [option for named in method_options(changed).values() for option in named.items()]
            # A fraction is listed as the nearest number.
            assert as_number(default) in map(as_number, options), line


def as_number(option: tuple[str, object]) -> tuple[str, object]:
    name, value = option
    return name, float(value) if isinstance(value, Fraction) else value


def test_an_unknown_method_is_named(run):
    ran = run("methods", "aimm")

    assert ran.code != 0
    assert "did you mean 'aim'" in ran.err


def test_an_option_reaches_the_method(folder, run):
    ran = run("--json", *SYNTH, "--option", "max_rounds=2", "--option", "workload=[[age, job]]")

    assert ran.code == 0, ran.err
    steps = {step["step"]: step["mechanism"] for step in json.loads(ran.out)["statement"]["steps"]}
    assert steps["choose marginals"].startswith("2 times")


PLAN = ("--json", "plan", *SYNTH[1:2], *SYNTH[4:], "--discretizer", "uniform", "--bins", 100)


def test_a_plan_follows_the_options(folder, run):
    shares = [json.loads(run(*PLAN, "--option", f"one_way_share={share}").out) for share in (0.25, 0.5)]

    assert [plan["steps"][0]["share"] for plan in shares] == [0.25, 0.5]


def test_a_wrong_option_is_refused_before_anything_is_spent(folder, run):
    for option, message in [
        ("max_round=2", "did you mean 'max_rounds'"),
        ("max_rounds", "NAME=VALUE"),
        ("max_rounds=0", "max_rounds must be"),
        ("workload=[[", "YAML"),
        ("workload=[[age, height]]", "height"),
    ]:
        ran = run(*SYNTH, "--option", option, "--journal", "journal.jsonl")

        assert ran.code == 2, ran.err
        assert message in ran.err
        assert not (folder / "out.csv").exists()
        assert not (folder / "journal.jsonl").exists()
