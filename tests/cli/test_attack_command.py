"""`syntabula attack`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

FEW = ("--shadows", "8", "--method", "independent", "-s", "schema.yaml")


class TestAttack:
    def test_an_unknown_attack_is_named_with_all_that_there_are(self, folder, run):
        ran = run("attack", "people.csv", "-a", "disclosur", *FEW)

        assert ran.code == 2
        said = "there is no attack 'disclosur'; did you mean 'disclosure'? attacks are groundhog, querybased, range, "
        assert said + "disclosure" in ran.err

    @pytest.mark.thorough
    def test_it_prints_what_each_attack_found_and_says_that_it_is_not_private(self, folder, run):
        ran = run("attack", "people.csv", *FEW, "--quiet")

        assert ran.code == 0, ran.err
        assert ran.out.startswith("groundhog: AUC ")
        assert "querybased: AUC " in ran.out
        assert "epsilon is at least" in ran.out
        assert "not private" in ran.err

    @pytest.mark.thorough
    def test_it_writes_the_same_facts_as_it_prints(self, folder, run):
        ran = run(
            "attack", "people.csv", *FEW, "-a", "querybased", "--target", "3", "-o", "found.json", "--json"
        )

        assert ran.code == 0, ran.err
        facts = json.loads(ran.out)
        assert facts == json.loads((folder / "found.json").read_text(encoding="utf-8"))
        assert facts["attacks"][0]["attack"] == "querybased"
        assert facts["attacks"][0]["epsilon"] == 1.0

    @pytest.mark.thorough
    def test_an_interrupted_run_goes_on_from_its_folder(self, folder, run):
        words = ("attack", "people.csv", *FEW, "--folder", "shadows", "--json", "--quiet")
        first = run(*words)
        (folder / "shadows" / "shadow-00005.npy").unlink()
        again = run(*words)

        assert again.code == 0, again.err
        assert len(list((folder / "shadows").glob("shadow-*.npy"))) == 8
        figures = [
            {k: v for k, v in f.items() if "seconds" not in k} for f in json.loads(again.out)["attacks"]
        ]
        expected = [
            {k: v for k, v in f.items() if "seconds" not in k} for f in json.loads(first.out)["attacks"]
        ]
        assert figures == expected

    @pytest.mark.thorough
    def test_ctrl_c_leaves_whole_results_and_says_so_in_one_line(self, folder, run):
        words = [
            "attack",
            "people.csv",
            *FEW[2:],
            "--shadows",
            "4000",
            "--workers",
            "2",
            "--folder",
            "shadows",
        ]
        script = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
            "from syntabula.cli.main import main; sys.exit(main(sys.argv[1:]))"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script, *words],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        while process.poll() is None and not list(folder.glob("shadows/shadow-*.npy")):
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)

        _, said = process.communicate(timeout=600)

        assert process.returncode == 130, said
        assert "Traceback" not in said
        kept = list(folder.glob("shadows/shadow-*.npy"))
        assert 0 < len(kept) < 4000
        lengths = {np.load(path, allow_pickle=False).size for path in kept}
        assert len(lengths) == 1

    @pytest.mark.thorough
    def test_a_weak_budget_is_warned_of_once_however_many_models_are_fitted(self, folder, run):
        ran = run("attack", "people.csv", *FEW, "--epsilon", "20", "--folder", "shadows")

        assert ran.code == 0, ran.err
        assert ran.err.count("is above 10") == 1

    @pytest.mark.thorough
    def test_disclosure_has_its_baselines(self, folder, run):
        words = ("--shadows", "4", "--method", "independent", "-s", "schema.yaml", "--json")
        ran = run("attack", "people.csv", "-a", "disclosure", *words)

        assert ran.code == 0, ran.err
        score = json.loads(ran.out)["disclosure"]
        assert set(score["baselines"]) == {"SELF", "HALF", "HISTOGRAM"}
        assert score["facts"]["shadows"] == 4

    @pytest.mark.thorough
    def test_disclosure_of_some_records_says_how_many_and_which_baseline_it_is_at(self, folder, run):
        words = ("--shadows", "4", "--method", "independent", "-s", "schema.yaml", "--records", "7", "--json")
        ran = run("attack", "people.csv", "-a", "disclosure", *words)

        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["disclosure"]["facts"]["records"] == 7
        assert "shadow models of the baseline HALF" in ran.err

    def test_what_makes_no_sense_is_refused_in_one_line(self, folder, run):
        for words, code, message in [
            (("-a", "grounhog"), 2, "did you mean 'groundhog'"),
            (("-a", "disclosure", "-a", "range"), 2, "run it without other attacks"),
            (("--target", "first"), 2, "--target must be"),
            (("--target", "300"), 2, "number of a row"),
            (("--shadows", "9"), 2, "even"),
            (("--records", "300"), 2, "other records"),
            (("-o", "people.csv"), 2, "is also an input file"),
            (("-o", "schema.yaml"), 2, "is also an input file"),
            (("-o", "found.csv"), 2, "must end in .json"),
        ]:
            ran = run("attack", "people.csv", "-s", "schema.yaml", "-m", "independent", *words, "--quiet")

            assert ran.code == code
            assert message in ran.err
            assert ran.out == ""

    def test_a_missing_table_is_no_traceback(self, folder, run):
        ran = run("attack", "nowhere.csv", *FEW)

        assert ran.code == 3
        assert "Traceback" not in ran.err
