"""Which tables are drawn here, under which names, and what is known about them."""

from __future__ import annotations

from typing import Any, get_args

from syntabula.datasets.census import census
from syntabula.datasets.controlled import Shape, controlled
from syntabula.datasets.gauss import ROWS, gauss
from syntabula.datasets.info import DatasetInfo, Kind

LICENCE = "none needed: simulated"
PROVIDER = "drawn by this package"
_CENSUS_KINDS: dict[str, Kind] = {
    "person_id": "identifier",
    "region": "categorical",
    "sex": "categorical",
    "age": "numeric",
    "education": "categorical",
    "marital_status": "categorical",
    "household_size": "numeric",
    "employed": "boolean",
    "occupation": "categorical",
    "hours_per_week": "numeric",
    "income": "numeric",
    "commute_minutes": "numeric",
    "interview_date": "date",
    "last_visit": "datetime",
}


def simulated_tables() -> list[DatasetInfo]:
    """Return the facts of all simulated tables."""
    return [
        _info("census", "Simulated census of adults, every kind of column", 30_000, _CENSUS_KINDS, ()),
        *(
            _info(
                f"gauss{n}",
                f"{n} normal columns of which every pair has correlation 0.8",
                rows,
                {f"x{i}": "numeric" for i in range(1, n + 1)},
                ("MargNet, Table 4",),
            )
            for n, rows in ROWS.items()
        ),
        *(
            _info(
                f"controlled_{shape}",
                f"One numeric column of {shape} shape between -10 and 10",
                10_000,
                {"value": "numeric"},
                ("Discretization, Table 2",),
            )
            for shape in get_args(Shape)
        ),
    ]


def draw(name: str, seed: int) -> Any:
    """Return a simulated table of the default number of rows as a frame."""
    if name == "census":
        return census(seed=seed)
    if name.startswith("gauss"):
        return gauss(int(name.removeprefix("gauss")), seed=seed)
    shape: Any = name.removeprefix("controlled_")
    return controlled(shape, seed=seed)


def _info(name: str, title: str, rows: int, columns: dict[str, Kind], papers: tuple[str, ...]) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        title=title,
        origin="simulated",
        n_rows=rows,
        n_columns=len(columns),
        columns=columns,
        provider=PROVIDER,
        licence=LICENCE,
        papers=papers,
    )
