from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import syntabula
from syntabula.cli.console import in_flags

SOURCE = Path(syntabula.__file__).parent
# Entries of a schema, options of methods, functions of pandas, and what no command leads to.
NO_ARGUMENTS = {
    "other_label",
    "missing_as",
    "points_moons",
    "dependence_share",
    "one_way_share",
    "graph_share",
    "refine_share",
}
NO_ARGUMENTS |= {"structure_share", "total_share", "drop=", "reset_index", "range(", "solver="}
NO_ARGUMENTS |= {
    # What a plug-in's functions must take, and what tries it.
    "share=",
    "progress=",
    "check_attack",
    "check_selector",
    "learning_rate",
    "held_out",
    "rows_per_unit",
    "unit_sizes",
    "best_of_trials",
    "measure_distance",
    "allow_pickle",
}
ONLY_PYTHON = {
    "score_sensitivity",
    "threshold_sigmas",
    "n_columns",
    "n_neighbours",
    "over(",
    "epsilon=",
    "journal=",
}
ONLY_PYTHON |= {"draft_schema", "membership_disclosure", "dataclass(", "kw_only", "with_options"}
# A function of transformers, and an option of a method.
ONLY_PYTHON |= {"save_pretrained", "model_path"}
ONLY_PYTHON |= {"n_thresholds", "relaxed_projection", "sample_to", "help(", "with_failure_delta"}
ONLY_PYTHON |= {"records_per_noise"}  # of a selector, which the command does not set
# What a source of noise of the user's own must have.
ONLY_PYTHON |= {"unit_key"}


def messages() -> set[str]:
    """Return all text that the library raises or warns with."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        if "cli" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            warns = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_caller"
            if warns or isinstance(node, ast.Raise):
                parts = (
                    n.value
                    for n in ast.walk(node)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                )
                found.add(" ".join(parts))
    return found


class TestInFlags:
    def test_arguments_become_options(self):
        cases = [
            ("memory_mb must be a number; got 0.0", "--memory must be a number; got 0.0"),
            (
                "seed must be an integer of at least 0; got -1",
                "--seed must be an integer of at least 0; got -1",
            ),
            ("epsilon is -1.0; it must be above 0", "--epsilon is -1.0; it must be above 0"),
            (
                "where asks for 7, which is odd; see release.schema['x']",
                "--where asks for 7, which is odd; see `syntabula info`",
            ),
            ("pass the values as given=, which draws", "pass the values as --given, which draws"),
            ("say allow_observed=True (--observed-domain), which is", "say --observed-domain, which is"),
            ("raise max_model_mb", "raise --option max_model_mb"),
            ("max_rows must be an integer", "max_rows must be an integer"),
            ("its options are max_memory_mb, tolerance", "its options are max_memory_mb, tolerance"),
            ("its options are bins, max_memory_mb", "its options are bins, max_memory_mb"),
            ("trials must be an integer", "--trials must be an integer"),
            ("'efficacy' needs target (the column)", "'efficacy' needs --target (the column)"),
            ("use Budget.none() (--epsilon inf)", "use --epsilon inf"),
            ("where the seed is, nobody cares", "where the seed is, nobody cares"),
            # An option of methods, which `synth` takes as --option seconds=3.
            ("seconds is 3, which leaves 1 step", "seconds is 3, which leaves 1 step"),
        ]
        for said, shown in cases:
            assert in_flags(said) == shown

    @pytest.mark.thorough
    def test_no_message_of_the_library_keeps_a_name_of_python(self):
        names = re.compile(
            r"\b[a-z]+(?:_[a-z]+)+\b|\b\w+=(?!\w)|\b[A-Z]\w+\.\w+\(|(?<![\w.(])[a-z]+\((?=[a-z.)])"
        )
        kept = {
            name for text in messages() for name in names.findall(re.sub(r"--option \w+", "", in_flags(text)))
        }

        assert len(messages()) > 300
        assert kept <= NO_ARGUMENTS | ONLY_PYTHON


class TestCommand:
    def test_speaks_of_its_options_in_errors(self, folder, run):
        command = ("synth", "people.csv", "-s", "schema.yaml", "-o", "out.csv")

        assert "--memory must be" in run(*command, "--memory", "0").err
        assert "or raise --memory" in run(*command, "--memory", "0.0001").err
        assert "--seed must be" in run(*command, "--seed", "-1").err
        assert "--preprocessing-share must be" in run(*command, "--preprocessing-share", "2").err

    def test_speaks_of_its_options_for_conditions(self, folder, released, run):
        ran = run("sample", released, "-o", "out.csv", "--where", "age=old")

        assert ran.code == 2
        assert ran.err.startswith("error: --where gives 'old' for column 'age'")
        assert ran.err.endswith("; give a value, a range such as 30..40, or nothing for missing\n")

    @pytest.mark.thorough
    def test_speaks_of_its_options_where_domains_are_observed(self, folder, run):
        run("schema", "people.csv", "-o", "draft.yaml", "--quiet")

        ran = run("synth", "people.csv", "-s", "draft.yaml", "-o", "out.csv")

        assert ran.code == 4
        assert "--observed-domain" in ran.err
        assert "allow_observed" not in ran.err
