"""`synth --resume`: a command that was killed is given again, and ends as if it had not been."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from syntabula.cli.main import main
from syntabula.privacy.journal import Journal
from syntabula.synthesizers.marginal import Marginal

SYNTH = ("synth", "people.csv", "--schema", "schema.yaml", "--seed", 3, "--journal", "journal")

KILLED = """
import os, signal, sys
from syntabula.cli.main import main
from syntabula.privacy.journal import Journal

write, count = Journal._append, 0

def append(journal, line, **room):
    global count
    count += 1
    if count > int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    write(journal, line, **room)

Journal._append = append
main(sys.argv[2:])
"""


def spends_of(journal: str) -> bytes:
    """Return the lines of a journal that come before those of files."""
    return Path(journal).read_bytes().partition(b'{"file"')[0]


def test_an_interrupt_says_how_to_go_on(folder, run, monkeypatch) -> None:
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Marginal, "fit", stopped)

    kept, lost = run(*SYNTH, "-o", "out.csv"), run(*SYNTH[:-2], "-o", "out.csv")

    assert kept.code == lost.code == 130
    assert "what was paid for is in 'journal'; the same command with --resume goes on there" in kept.err
    assert "without --journal FILE, what an interrupted run measured is paid for and lost" in lost.err


def test_without_a_budget_an_interrupt_speaks_of_no_payment(folder, run, monkeypatch) -> None:
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Marginal, "fit", stopped)
    unpaid = [*SYNTH, "--epsilon", "inf"]

    kept, lost = run(*unpaid, "-o", "out.csv"), run(*unpaid[:-4], *unpaid[-2:], "-o", "out.csv")

    assert "what it came to is in 'journal'; the same command with --resume goes on there" in kept.err
    assert "without --journal FILE, what an interrupted run measured is lost" in lost.err


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="a process is killed")
def test_a_killed_command_is_gone_on_with(folder, run) -> None:
    words = [str(word) for word in (*SYNTH, "-o", "out.csv", "--save", "out.syn", "--quiet")]
    killed = subprocess.run([sys.executable, "-c", KILLED, "4", *words], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert sorted(os.listdir(folder)) == ["journal", "people.csv", "schema.yaml"]

    resumed = run(*SYNTH, "-o", "out.csv", "--save", "out.syn", "--resume", "--statement", "statement.json")
    os.rename("journal", "resumed")
    whole = run(*SYNTH, "-o", "whole.csv")

    assert (resumed.code, whole.code) == (0, 0), resumed.err + whole.err
    assert "resumed: 1 of the answers came from journal, the others were drawn" in resumed.err
    assert "1 of the answers came from its journal" in resumed.out
    assert json.loads(Path("statement.json").read_text())["replayed"] == 1
    assert Path("out.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert spends_of("resumed") == spends_of("journal")
    shown = run("info", "out.syn", "--json")
    assert json.loads(shown.out)["statement"]["replayed"] == 1


OUTPUTS = ("-o", "out.csv", "--save", "out.syn", "--statement", "statement.txt")
FAST = (*SYNTH, "--method", "independent", "--rows", 40)


def fast_but(option: object, *value: object) -> tuple:
    """Return the words of the fast command, with this option instead of its own, as each is given once."""
    where = FAST.index(option) if option in FAST else len(FAST)
    return (*FAST[:where], *FAST[where + 2 :], option, *value)


def killed_at(moment: int, *words: object) -> bool:
    """Say whether a command got as far as the moment, when it is killed: around each name that a file takes."""

    def work() -> None:
        left = iter(range(moment))

        def dying(real):
            def call(*given, **named):
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                done = real(*given, **named)
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done

            return call

        os.link, os.replace = dying(os.link), dying(os.replace)
        Journal.record_file = dying(Journal.record_file)
        os._exit(main([str(word) for word in words]))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


@pytest.mark.skipif(os.name != "posix", reason="processes are killed")
class TestKilledWhileItWrites:
    # A release is written by itself and then named: two names, and a table likewise; the statement takes one.
    MOMENTS = 2 * (3 + 3 + 2)

    @pytest.fixture
    def whole(self, folder, run) -> dict[str, bytes]:
        """What the command writes if nothing ends it."""
        assert run(*FAST, *OUTPUTS, "--quiet").code == 0
        files = {name: Path(name).read_bytes() for name in OUTPUTS[1::2]}
        for name in (*files, "journal"):
            os.rename(name, f"whole {name}")
        return files

    @pytest.mark.thorough
    # The moment after a name is that before the next one; a table is written as a release is.
    @pytest.mark.parametrize("moment", [0, 2, 4, 6, MOMENTS - 1])
    def test_the_same_command_with_resume_ends_as_if_it_had_not_been(self, whole, run, moment: int) -> None:
        assert killed_at(moment, *FAST, *OUTPUTS, "--quiet")
        there = {name: Path(name).read_bytes() for name in whole if Path(name).exists()}
        assert there == {name: whole[name] for name in there}

        resumed = run(*FAST, *OUTPUTS, "--resume")

        assert resumed.code == 0, resumed.err
        assert spends_of("journal") == spends_of("whole journal")
        assert Path("out.csv").read_bytes() == whole["out.csv"]
        if "out.syn" in there:
            assert (
                "this run had saved its release in out.syn; no noise was drawn, no budget spent"
                in resumed.err
            )
            assert {name: Path(name).read_bytes() for name in whole} == whole
        else:
            assert "5 of the answers came from journal" in resumed.err

    @pytest.mark.thorough
    def test_the_last_moment_is_the_end(self, whole, run) -> None:
        assert not killed_at(self.MOMENTS, *FAST, *OUTPUTS, "--quiet")

    @pytest.mark.thorough
    def test_killed_again_and_again_it_ends(self, whole, run) -> None:
        assert killed_at(0, *FAST, *OUTPUTS, "--quiet")
        moments = 0
        while killed_at(moments, *FAST, *OUTPUTS, "--quiet", "--resume"):
            moments += 1
        assert moments >= 3
        assert Path("out.csv").read_bytes() == whole["out.csv"]
        assert spends_of("journal") == spends_of("whole journal")

    @pytest.mark.thorough
    def test_without_a_saved_release_it_ends_as_well(self, whole, run) -> None:
        outputs, moment = (*OUTPUTS[:2], *OUTPUTS[4:]), 0
        while killed_at(moment, *FAST, *outputs, "--quiet"):
            assert run(*FAST, *outputs, "--resume").code == 0
            assert Path("out.csv").read_bytes() == whole["out.csv"]
            for name in (*outputs[1::2], "journal"):
                os.unlink(name)
            moment += 1
        assert moment == 2 * (3 + 2)


class TestOwnFiles:
    @pytest.fixture
    def finished(self, folder, run) -> None:
        """A command that was killed when its release was saved and its table was not."""
        assert run(*FAST, *OUTPUTS, "--quiet").code == 0
        os.unlink("out.csv")
        os.unlink("statement.txt")

    @pytest.mark.thorough
    def test_nothing_is_fitted(self, finished, run, monkeypatch) -> None:
        def fit(*_, **__):
            raise AssertionError("it was fitted again")

        monkeypatch.setattr(Marginal, "fit", fit)

        assert run(*FAST, *OUTPUTS, "--resume").code == 0

    @pytest.mark.thorough
    def test_other_rows_of_the_same_run_may_be_asked_for(self, finished, run) -> None:
        assert run(*fast_but("--rows", 7), *OUTPUTS, "--resume").code == 0
        assert len(Path("out.csv").read_text().splitlines()) == 8

    @pytest.mark.parametrize(
        "words",
        [("--method", "mst"), ("--epsilon", 2), ("--strict",), ("--schema", "o.yaml")],
    )
    def test_those_of_another_command_are_in_the_way(self, finished, run, words) -> None:
        schema = Path("schema.yaml").read_text()
        Path("o.yaml").write_text(schema.replace("upper: 90", "upper: 91"))

        ran = run(*fast_but(*words), *OUTPUTS, "--resume")

        assert ran.code == 6
        assert "--save 'out.syn' exists already" in ran.err
        assert not Path("out.csv").exists()

    def test_those_of_another_content_of_the_same_file_of_options_are_in_the_way(self, folder, run) -> None:
        words, options = (*FAST, "--options", "o.yaml", *OUTPUTS), Path("o.yaml")
        options.write_text("options: {bins: 9}\n")
        assert run(*words, "--quiet").code == 0
        os.unlink("out.csv")
        options.write_text("options: {bins: 5}\n")

        ran = run(*words, "--resume")

        assert ran.code == 6
        assert "--save 'out.syn' exists already" in ran.err
        options.write_text("options: {bins: 9}  # as before\n")
        assert run(*words, "--resume").code == 0

    @pytest.mark.parametrize("name", ["out.syn", "out.csv", "statement.txt"])
    def test_what_somebody_changed_is_no_longer_the_runs_own(self, folder, run, name: str) -> None:
        assert run(*FAST, *OUTPUTS, "--quiet").code == 0
        with Path(name).open("ab") as file:
            file.write(b"!")
        before = {n: Path(n).read_bytes() for n in OUTPUTS[1::2]}

        ran = run(*FAST, *OUTPUTS, "--resume")

        assert ran.code == 6
        assert f"{name!r} exists already" in ran.err
        assert {n: Path(n).read_bytes() for n in OUTPUTS[1::2]} == before

    @pytest.mark.thorough
    def test_those_of_an_earlier_run_of_the_journal_are_in_the_way(self, finished, run) -> None:
        assert run(*FAST, "-o", "later.csv", "--epsilon", 3, "--quiet").code == 0

        ran = run(*FAST, *OUTPUTS, "--resume")

        assert ran.code == 6
        assert "exists already" in ran.err

    @pytest.mark.thorough
    def test_without_resume_the_way_on_is_said(self, finished, run) -> None:
        ran = run(*FAST, *OUTPUTS)

        assert ran.code == 6
        assert "holds the release of this same command" in ran.err
        assert "--resume" in ran.err
        assert run(*drawing(ran.err)).code == 0

    @pytest.mark.thorough
    def test_without_a_journal_the_way_on_is_said(self, folder, run) -> None:
        words = (*FAST[:6], *FAST[8:], *OUTPUTS)
        assert "--journal" not in words
        assert run(*words, "--quiet").code == 0
        table = Path("out.csv").read_bytes()
        os.unlink("out.csv")

        ran = run(*words)

        assert ran.code == 6
        assert "holds a release (method 'independent')" in ran.err
        assert run(*drawing(ran.err)).code == 0
        assert Path("out.csv").read_bytes() == table


def drawing(error: str) -> list[str]:
    """Return the words of the command that an error names."""
    command = re.search(r"syntabula (sample .*?)(\.? Otherwise|$)", error.strip())
    assert command is not None, error
    return shlex.split(command[1])


class TestRefusals:
    @pytest.fixture
    def journal(self, folder, run) -> Path:
        """The journal of a run that broke off before its last answer."""
        assert run(*SYNTH, "-o", "first.csv", "--quiet").code == 0
        lines = Path("journal").read_bytes().splitlines(keepends=True)
        Path("journal").write_bytes(b"".join(lines[:-1]))
        return folder / "journal"

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("words", "differs"),
        [
            (("--method", "aim"), "its method is auto, but here it is aim"),
            (("--epsilon", 2), "its budget is"),
            (("--seed", 4), "its seed is 3, but here it is 4"),
            (("--bins", 7), "another option bins"),
        ],
    )
    def test_another_run_is_refused_and_nothing_is_drawn(self, journal, run, words, differs: str) -> None:
        before = journal.read_bytes()
        others = [word for word in SYNTH if "--seed" not in words or word not in ("--seed", 3)]

        ran = run(*others, "-o", "out.csv", "--resume", *words)

        assert ran.code == 4
        assert differs in ran.err
        assert "nothing was drawn" in ran.err
        assert journal.read_bytes() == before
        assert not Path("out.csv").exists()

    @pytest.mark.thorough
    def test_a_journal_with_a_gap_or_a_number_that_is_none_is_exit_6(self, journal, run) -> None:
        lines = journal.read_bytes().splitlines(keepends=True)
        outcome = lines[2].replace(json.loads(lines[2])["outcome"].encode(), b"AAAAAAAA+H8=")
        for damaged in (lines[:1] + lines[3:], [*lines[:2], outcome, *lines[3:]]):
            journal.write_bytes(b"".join(damaged))

            ran = run(*SYNTH, "-o", "out.csv", "--resume")

            assert ran.code == 6
            assert "error: the journal 'journal' cannot be used: line" in ran.err
            assert journal.read_bytes() == b"".join(damaged)
            assert not Path("out.csv").exists()

    def test_it_needs_a_journal(self, folder, run) -> None:
        unnamed = run(*SYNTH[:4], "-o", "out.csv", "--resume")
        missing = run(*SYNTH, "-o", "out.csv", "--resume")

        assert (unnamed.code, missing.code) == (2, 6)
        assert "--journal" in unnamed.err
        assert "there is no journal 'journal' to resume" in missing.err
        assert not Path("journal").exists()

    @pytest.mark.thorough
    def test_without_it_what_was_spent_counts(self, journal, run) -> None:
        spends = Journal.read(journal).records

        ran = run(*SYNTH, "-o", "out.csv", "--quiet")

        assert ran.code == 4
        assert "new journal" in ran.err
        assert len(Journal.read(journal).records) == len(spends)
