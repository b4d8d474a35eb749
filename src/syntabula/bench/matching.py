"""Which results of a store are of a study's cells, as its files are now."""

from __future__ import annotations

from collections.abc import Mapping

from syntabula.bench.cell import Cell
from syntabula.bench.content import state_behind
from syntabula.bench.store import Record
from syntabula.bench.study import Study


def results_of(study: Study, records: Mapping[str, Record]) -> list[tuple[Cell, Record | None]]:
    """Return each cell of a study with its result, None where there is none.

    Results of a file that is not here, such as those that somebody else ran, count whatever it held.
    """
    cells = study.cells
    absent = {cell.dataset for cell in cells if _is_absent(cell)}
    asked = {r.cell.question: r for r in records.values() if r.cell.dataset in absent}
    return [
        (cell, records.get(cell.key) or (asked.get(cell.question) if cell.dataset in absent else None))
        for cell in cells
    ]


def changed_files(study: Study, records: Mapping[str, Record]) -> dict[str, int]:
    """Return the files of a study that have changed, each with the number of its cells that are known only as it was."""
    known = {record.cell.question for record in records.values()}
    found: dict[str, int] = {}
    for cell in study.cells:
        if cell.content and cell.key not in records and cell.question in known:
            found[cell.dataset] = found.get(cell.dataset, 0) + 1
    return found


def states_of_code(records: Mapping[str, Record]) -> dict[str, int]:
    """Return the states of the code that results are of, each with how many; an unknown one is empty.

    Cells differ in the plug-ins that they use, so these count only where cells of one method are of several states of
    them.
    """
    plugged: dict[object, set[str]] = {}
    for record in records.values():
        plugged.setdefault(_parts(record), set()).add(record.code.partition("+")[2])
    found: dict[str, int] = {}
    for record in records.values():
        code = record.code if len(plugged[_parts(record)]) > 1 else record.code.partition("+")[0]
        found[code] = found.get(code, 0) + 1
    return found


def _parts(record: Record) -> tuple[object, ...]:
    return record.cell.method, record.cell.binning.discretizer, record.cell.scores


def of_other_code(records: Mapping[str, Record]) -> int:
    """Return how many results are not known to be of the code that runs now, that of their plug-ins included."""
    return sum(record.code != state_behind(record.cell) for record in records.values())


def _is_absent(cell: Cell) -> bool:
    from syntabula.bench.checks import known_tables
    from syntabula.bench.table_names import table_and_rows

    return not cell.content and table_and_rows(cell.dataset)[0] not in known_tables(())
