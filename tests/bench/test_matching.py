"""Results count for the file that they were made of, and those of several states of the code are told apart."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from syntabula._entries import Entry
from syntabula.bench import Record, Store, Study, content, summarize, work_of
from syntabula.bench.cell import Cell
from syntabula.bench.content import code_state, content_of, state_behind
from syntabula.bench.matching import of_other_code, states_of_code
from syntabula.bench.words import planned, table
from syntabula.errors import StudyError
from syntabula.report.study_page import make_study_page


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "rows.csv"
    place.write_text("a,b\n1,x\n2,y\n")
    return place


def study_of(*datasets: str, seeds: int = 1) -> Study:
    return Study(name="s", datasets=datasets, methods=("independent",), scores=("tvd-1",), seeds=seeds)  # type: ignore[arg-type]


def done(study: Study, *, code: str = "") -> dict[str, Record]:
    return {
        cell.key: Record(study="s", cell=cell, status="done", scores={"tvd-1": 0.5}, code=code)
        for cell in study.cells
    }


def store(path: Path, records: dict[str, Record]) -> Path:
    with Store(path).writing() as writer:
        for record in records.values():
            writer.append(record)
    return path


class TestFiles:
    def test_a_key_depends_on_what_the_file_holds_and_not_on_when_it_was_written(self, file: Path) -> None:
        study = study_of(str(file))
        before = study.cells[0].key

        os.utime(file, (1, 1))
        touched = study.cells[0].key
        file.write_text("a,b\n1,x\n2,z\n")
        changed = study.cells[0]

        assert touched == before != changed.key
        assert Cell.from_json(changed.to_json()) == changed

    def test_rows_of_a_file_have_its_digest_and_named_tables_have_none(self, file: Path) -> None:
        assert content_of(f"{file}@2") == content_of(str(file)) != ""
        assert [content_of(name) for name in ("bank", "controlled_normal@500", "none.csv")] == [""] * 3

    def test_keys_of_named_tables_are_those_of_stores_without_digests(self) -> None:
        assert study_of("census@60").cells[0].key == "c3dfb45472beaef3"
        assert "content" not in study_of("census@60").cells[0].to_json()

    def test_results_of_what_a_file_held_before_do_not_count_and_a_line_says_so(self, file: Path) -> None:
        study = study_of(str(file), seeds=2)
        place = store(file.with_name("s.jsonl"), done(study))
        file.write_text("a,b\n3,x\n4,y\n")

        work = work_of(study, place)
        summary = summarize(study, Store(place).records())

        line = f"'{file}' has changed since 2 of its cells were run"
        assert (work.n_known, len(work.cells)) == (0, 2)
        assert line in planned(work, 1)
        assert summary.rows[0].n == 0
        assert line in table(summary)
        assert "has changed since 2 of its cells" in make_study_page(summary)

    def test_results_of_a_file_that_is_not_here_are_shown(self, file: Path) -> None:
        study = study_of(str(file))
        records = done(study)
        file.unlink()

        summary = summarize(study, records)

        assert (summary.rows[0].n, summary.changed) == (1, {})

    @pytest.mark.thorough
    def test_a_file_that_changes_during_a_run_leaves_its_cells_out(self, file: Path) -> None:
        from syntabula.bench.process import run_cell

        cell = study_of(str(file)).cells[0]
        file.write_text("a,b\n3,x\n4,y\n")

        found = run_cell(cell, seconds=60, memory_mb=4000)

        assert found["status"] == "left out"
        assert "has changed since the run began" in found["reason"]


class TestCode:
    def test_shown_cells_of_several_states_are_told(self) -> None:
        study = study_of("census@60", seeds=3)
        records = done(study, code="new")
        first, second, _ = records
        records |= {first: replace(records[first], code="old"), second: replace(records[second], code="")}

        text = table(summarize(study, records))

        assert "3 states of this library's code, or of a plug-in's, so rows may not be comparable" in text
        assert "1 of an unknown one" in text
        assert "states of this library" not in table(summarize(study, done(study)))

    def test_known_cells_of_another_state_are_told_before_a_run(self, tmp_path: Path) -> None:
        study = study_of("census@60", seeds=2)
        old = store(tmp_path / "old.jsonl", done(study))
        new = store(tmp_path / "new.jsonl", done(study, code=code_state()))

        assert "2 known cells are of another or an unknown state" in planned(work_of(study, old), 1)
        one = study_of("census@60", seeds=1)
        said = planned(work_of(one, store(tmp_path / "one.jsonl", done(one))), 1)
        assert said.startswith("1 cell, of which 1 is known and 0 would run\n1 known cell is of another")
        assert "state of this library" not in planned(work_of(study, new), 1)

    def test_a_plug_in_that_has_changed_is_another_state_of_its_own_cells(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = tmp_path / "parts_of_mine.py"
        entry = Entry(kind="selector", key="mine", name="Mine", home="parts_of_mine:Mine", summary="")
        monkeypatch.setattr(content, "entries", lambda kind: [entry] if kind == "selector" else [])
        monkeypatch.syspath_prepend(tmp_path)
        plain = study_of("census@60").cells[0]
        mine = replace(plain, method="mine+pgm")
        states = []
        for text in ("first = 1", "second = 2"):
            module.write_text(text)
            content._state_of_package.cache_clear()
            states.append(state_behind(mine))
            assert state_behind(plain) == code_state()
        found = {
            str(n): Record(study="s", cell=cell, status="done", code=code)
            for n, (cell, code) in enumerate([(mine, states[0]), (mine, states[1]), (plain, code_state())])
        }

        assert len({code_state(), *states}) == 3
        assert of_other_code(found) == 1
        assert len(states_of_code(found)) == 3
        assert list(states_of_code({key: found[key] for key in "12"})) == [code_state()]

    def test_a_state_is_a_digest_that_stays(self) -> None:
        first = code_state()
        code_state.cache_clear()

        assert code_state() == first
        assert len(first) == 16


def test_a_full_disk_is_said_with_the_store_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of("census@60", seeds=2)
    first, second = done(study).values()
    place = tmp_path / "s.jsonl"

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store(place).writing() as writer:
        writer.append(first)
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            StudyError, match=r"'.*s\.jsonl' cannot be written: .*free some space there and give"
        ) as found:
            writer.append(second)

    assert "--journal" not in str(found.value)
    assert [*Store(place).records()] == [first.cell.key]
