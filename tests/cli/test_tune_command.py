from __future__ import annotations

import json

import pytest

from syntabula.cli.request import Request, read_options
from syntabula.errors import ArgumentError

pytest.importorskip("optuna", reason="the extra tune is not installed")

TUNE = (
    "tune", "people.csv", "--schema", "schema.yaml", "--method", "mst", "--weight", "tvd-2=1", "--trials", 2,
    "--epsilon", 4, "--space", "space.yaml",
)  # fmt: skip


@pytest.fixture
def space(folder):
    (folder / "space.yaml").write_text("bins: [8, 20]\nrecords_per_noise: {low: 1.0, high: 9.0, log: true}\n")
    return folder


class TestTune:
    @pytest.mark.thorough
    def test_writes_options_that_synth_takes_and_a_picture(self, space, run):
        ran = run(*TUNE, "--out", "best.yaml", "--picture", "search.png")

        assert ran.code == 0, ran.err
        assert "mst: 2 sets of options tried" in ran.out
        assert "no privacy guarantee covers the choice" in ran.err
        fit = "`syntabula synth people.csv --options best.yaml --schema schema.yaml -o synthetic.csv` fits with them"
        assert fit in ran.err
        assert (space / "search.png").read_bytes()[:4] == b"\x89PNG"
        made = run("synth", "people.csv", "-s", "schema.yaml", "--options", "best.yaml", "-o", "made.csv")
        assert made.code == 0, made.err
        assert (space / "made.csv").exists()

    def test_writes_the_options_that_it_was_given_too(self, space, run):
        (space / "given.yaml").write_text("method: aim\noptions: {max_rounds: 3, max_model_mb: 20}\n")
        words = ("tune", "people.csv", "-s", "schema.yaml", "--options", "given.yaml", "--trials", 1)
        (space / "bins.yaml").write_text("bins: [8]\n")

        ran = run(
            *words, "--finalists", 0, "--option", "max_rounds=2", "--space", "bins.yaml", "--out", "best.yaml"
        )

        assert ran.code == 0, ran.err
        written = read_options(space / "best.yaml", "--options")["options"]
        assert written | {"bins": 8} == {"max_rounds": 2, "max_model_mb": 20, "bins": 8}
        planned = run("plan", "people.csv", "-s", "schema.yaml", "--options", "best.yaml")
        assert planned.code == 0, planned.err

    def test_the_command_that_fits_says_of_the_table_what_was_said_of_it(self, space, run):
        (space / "noise.yaml").write_text("records_per_noise: [1.0]\n")
        words = (*TUNE[:-2], "--finalists", 0, "--bins", 9, "--discretizer", "uniform")

        fixed = run(*words, "--space", "noise.yaml", "--out", "fixed.yaml")

        assert "--options fixed.yaml --schema schema.yaml --bins 9 --discretizer uniform -o" in fixed.err

    def test_what_the_file_of_options_holds_is_not_said_again(self):
        request = Request(
            bins="9", within="even", observed=True, encoding="cp1252", atoms="found", preprocessing_share=0.2
        )

        words = "--encoding cp1252 --within even --atoms found --preprocessing-share 0.2 --observed-domain"
        assert request.words_of_table(but=["bins"]) == words.split()

    def test_the_command_line_wins_over_a_file_of_options(self, folder):
        file = folder / "filed.yaml"
        file.write_text("method: mst\noptions: {bins: 20, discretizer: uniform, within: even}\n")

        request = Request(options_file=file, bins="9", discretizer="privtree")

        assert request.options_given() == {"within": "even"}
        made = request.synthesizer()
        assert made.bins == 9
        assert (made.preprocessing.discretizer, made.preprocessing.within) == ("privtree", "even")

    def test_the_options_of_a_pair_name_both_parts(self, space, run):
        words = (
            "--selector",
            "one_way",
            "--model",
            "pgm",
            "--weight",
            "tvd-2=1",
            "--trials",
            1,
            "--finalists",
            0,
        )
        (space / "bins.yaml").write_text("bins: [8, 20]\n")
        ran = run(
            "tune", "people.csv", "-s", "schema.yaml", *words, "--space", "bins.yaml", "--out", "best.yaml"
        )

        assert ran.code == 0, ran.err
        assert ran.out.startswith("one_way+pgm: 1 set of options tried")
        planned = run("plan", "people.csv", "-s", "schema.yaml", "--options", "best.yaml")
        assert planned.code == 0, planned.err

    def test_without_a_method_it_tunes_the_one_that_auto_chooses(self, space, run):
        words = ("--weight", "tvd-2=1", "--trials", 1, "--finalists", 0)
        ran = run("tune", "people.csv", "-s", "schema.yaml", *words, "--out", "best.yaml")

        assert ran.code == 0, ran.err
        said, line, *_ = ran.out.splitlines()
        chosen = said.removeprefix("auto chose ").partition(":")[0]
        assert line.startswith(f"{chosen}: 1 set of options tried")
        assert f"method: {chosen}" in (space / "best.yaml").read_text()

    def test_an_interrupt_says_how_to_go_on(self, space, run, monkeypatch):
        def stopped(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("syntabula.tuning.search.tune", stopped)

        assert "no trial was kept; --storage FILE keeps them" in run(*TUNE).err
        assert "trials are in 't.log', and the same command goes on" in run(*TUNE, "--storage", "t.log").err

    @pytest.mark.thorough
    def test_json_holds_all_trials(self, space, run):
        ran = run(*TUNE, "--public", "--json", "--quiet")

        assert ran.code == 0, ran.err
        assert len(json.loads(ran.out)["trials"]) == 2
        assert "guarantee" not in ran.err

    def test_refuses_wrong_options(self, space, run):
        for more, what in [
            (("--weight", "tvd-2"), "--weight must be NAME=VALUE"),
            (("--weight", "tvd-2=1"), "given twice"),
            (("--weight", "ks=-1"), "the weight of 'ks' must be a finite number of at least 0; got -1"),
            (("--release", "x.syn"), "--release needs --private"),
            (("--out", "best.csv"), "--out 'best.csv' must end in .yaml or .yml or .json"),
            (("--picture", "best.jpg"), "--picture 'best.jpg' must end in .png"),
            (("--trials", "0"), "--trials must be"),
        ]:
            words = TUNE if more[0] != "--trials" else tuple(w for w in TUNE if w not in ("--trials", 2))

            ran = run(*words, *more)

            assert ran.code == 2
            assert what in ran.err

    def test_refuses_a_space_that_is_none(self, space, run):
        (space / "space.yaml").write_text("bins: 3\n")
        assert "option 'bins' of the space" in run(*TUNE).err
        (space / "space.yaml").write_text("- 3\n")
        assert "must hold a mapping" in run(*TUNE).err


class TestPrivately:
    PRIVATE = (
        "tune", "people.csv", "--method", "mst", "--epsilon", 2, "--space", "space.yaml", "--private", "--trials", 2,
    )  # fmt: skip

    @pytest.mark.thorough
    def test_without_a_method_it_searches_the_bins_of_auto(self, space, run):
        words = [word for word in self.PRIVATE if word not in ("--method", "mst", "--space", "space.yaml")]

        ran = run(*words, "-s", "schema.yaml", "--release", "best.syn")

        assert ran.code == 0, ran.err
        assert ran.out.startswith("auto: the best of the trials")

    def test_writes_the_best_release_and_its_options(self, space, run):
        ran = run(*self.PRIVATE, "-s", "schema.yaml", "--release", "best.syn", "--out", "best.yaml")

        assert ran.code == 0, ran.err
        assert "best of a random number of trials, 2 on average" in " ".join(ran.out.split())
        # Those of each trial would tell how many there were.
        warned = [line for line in ran.err.splitlines() if line.startswith("warning:")]
        assert len(warned) == len(set(warned))
        drawn = run("sample", "best.syn", "-o", "made.csv", "-n", 50)
        assert drawn.code == 0, drawn.err
        assert "bins" in (space / "best.yaml").read_text()

    def test_tries_ten_sets_on_average_as_each_takes_from_the_budget(self, space, run, monkeypatch):
        asked = []

        def refused(*_, trials, **__):
            asked.append(trials)
            raise ArgumentError("asked")

        monkeypatch.setattr("syntabula.tuning.private.tune_privately", refused)
        for words in self.PRIVATE[:-2], self.PRIVATE:
            run(*words, "-s", "schema.yaml", "--release", "best.syn")

        assert asked == [10, 2]

    def test_refuses_what_it_cannot_do(self, space, run):
        for more, what in [
            ((), "--private needs --release"),
            (("--release", "x.syn", "--target", "job", "--seed", "0"), "--private has no --target or --seed"),
            (
                ("--release", "x.syn", "-s", "schema.yaml", "--out", "x.json"),
                "--out 'x.json' must end in .yaml",
            ),
            (("--release", "x.syn", "--seconds", "9"), "--seconds"),
            (
                ("--release", "x.syn"),
                "--private needs --schema with all columns; draft it with `syntabula schema people.csv",
            ),
        ]:
            ran = run(*self.PRIVATE, *more)

            assert ran.code == 2
            assert what in ran.err


class TestOptionsFile:
    def synth(self, run, text, *more):
        return run("synth", "people.csv", "-s", "schema.yaml", "--options", "o.yaml", "-o", "x.csv", *more)

    def test_refuses_a_file_of_something_else(self, folder, run):
        for text, more, what in [
            ("method: aim\noptions: {bins: 9}\n", ("--method", "mst"), "is for the method 'aim'"),
            ("method: one_way+pgm\n", ("--method", "mst"), "is for the method 'one_way+pgm'"),
            (
                "method: one_way+pgm\n",
                ("--selector", "one_way", "--model", "gum"),
                "is for the method 'one_way+pgm'",
            ),
            ("bins: 9\n", (), "must hold `method`"),
            ("method: mst\noptions: {max_rounds: 9}\n", (), "no option 'max_rounds'"),
            ("method: [\n", (), "o.yaml"),
            ("method: mst\noptions: {epochs: 3}\n", (), "give `steps` instead"),
            ("method: argn\noptions: {epochs: 3}\n", (), "give `steps` instead"),
        ]:
            (folder / "o.yaml").write_text(text)

            ran = self.synth(run, text, *more)

            assert ran.code == 2
            assert what in ran.err
            assert not (folder / "x.csv").exists()

    def test_a_missing_file_is_named(self, folder, run):
        ran = self.synth(run, "")

        assert ran.code == 3
        assert "'o.yaml' cannot be read" in ran.err

    def test_a_method_may_be_a_selector_and_a_model(self, folder, run):
        planned = run("plan", "-s", "schema.yaml", "--method", "one_way+pgm", "--json")
        parts = run("plan", "-s", "schema.yaml", "--selector", "one_way", "--model", "pgm", "--json")
        named = run("plan", "-s", "schema.yaml", "--method", "rap++", "--json")

        assert planned.code == named.code == 0, planned.err
        assert json.loads(planned.out) == json.loads(parts.out) != json.loads(named.out)

    def test_the_command_line_wins_over_the_file(self, folder, run):
        (folder / "o.yaml").write_text("method: mst\noptions: {bins: 9}\n")

        planned = run("plan", "-s", "schema.yaml", "--options", "o.yaml", "--bins", "4", "--json")
        alone = run("plan", "-s", "schema.yaml", "--method", "mst", "--bins", "4", "--json")

        assert planned.code == 0, planned.err
        assert json.loads(planned.out) == json.loads(alone.out)
        assert json.loads(planned.out) != json.loads(
            run("plan", "-s", "schema.yaml", "--options", "o.yaml", "--json").out
        )
