"""`synth --resume`: a command that was killed is given again, and ends as if it had not been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from syntabula.privacy.journal import Journal

SYNTH = ("synth", "people.csv", "--schema", "schema.yaml", "--seed", 3, "--journal", "journal")

KILLED = """
import os, signal, sys
from syntabula.cli import main
from syntabula.privacy.journal import Journal

write, count = Journal._append, 0

def append(journal, line):
    global count
    count += 1
    if count > int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    write(journal, line)

Journal._append = append
main(sys.argv[2:])
"""


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
    assert "resumed: 1 of the noisy answers came from journal, the others were drawn" in resumed.err
    assert "1 of the noisy answers came from its journal" in resumed.out
    assert json.loads(Path("statement.json").read_text())["replayed"] == 1
    assert Path("out.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert Path("resumed").read_bytes() == Path("journal").read_bytes()
    shown = run("info", "out.syn", "--json")
    assert json.loads(shown.out)["statement"]["replayed"] == 1


class TestRefusals:
    @pytest.fixture
    def journal(self, folder, run) -> Path:
        """The journal of a run that broke off before its last answer."""
        assert run(*SYNTH, "-o", "first.csv", "--quiet").code == 0
        lines = Path("journal").read_bytes().splitlines(keepends=True)
        Path("journal").write_bytes(b"".join(lines[:-1]))
        return folder / "journal"

    @pytest.mark.parametrize(
        ("words", "differs"),
        [
            (("--method", "aim"), "its method is mst, and here it is aim"),
            (("--epsilon", 2), "its budget is"),
            (("--seed", 4), "its seed is 3, and here it is 4"),
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

    def test_it_needs_a_journal(self, folder, run) -> None:
        unnamed = run(*SYNTH[:4], "-o", "out.csv", "--resume")
        missing = run(*SYNTH, "-o", "out.csv", "--resume")

        assert (unnamed.code, missing.code) == (2, 6)
        assert "--journal" in unnamed.err
        assert "there is no journal 'journal' to resume" in missing.err
        assert not Path("journal").exists()

    def test_without_it_what_was_spent_counts(self, journal, run) -> None:
        spends = Journal.replay(journal)

        ran = run(*SYNTH, "-o", "out.csv", "--quiet")

        assert ran.code == 4
        assert "new journal" in ran.err
        assert len(Journal.replay(journal)) == len(spends)
