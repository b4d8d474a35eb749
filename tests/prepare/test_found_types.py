"""Types of columns of texts that nothing declares, found by noisy counts of the kinds of their cells."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from syntabula.errors import DomainWarning
from syntabula.prepare.found_types import find_type, find_types
from syntabula.privacy.budget import Budget
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.table.draft import draft_schema
from syntabula.table.files.cell_kinds import CELL_KINDS, likely_type
from syntabula.table.files.delimited import delimited_file
from syntabula.table.frames.text_numbers import with_texts_read
from syntabula.table.raw import PhysicalType
from syntabula.table.read import read

N_CELLS = 10_000
SHARE = Fraction(1, 100)
BUDGET = Budget.zcdp(0.05, 1e-5)  # noise of standard deviation 32: 6.1 of it stand out, 192 cells


def physical_found(budget: Budget, seed: int, cells: dict[str, int], **options: bool) -> PhysicalType | None:
    kinds = np.concatenate([np.full(n, CELL_KINDS.index(kind)) for kind, n in cells.items()])
    ledger, noise = Ledger(budget), SeededNoise(seed)
    return find_type("x", kinds.astype(np.int64), share=SHARE, ledger=ledger, noise=noise, **options)


HALF = N_CELLS // 2
FORMATS: list[tuple[dict[str, int], tuple[str, str | None]]] = [
    ({"true or false": N_CELLS}, ("BOOLEAN", None)),
    ({"True or False": N_CELLS}, ("True/False", None)),
    ({"TRUE or FALSE": N_CELLS, "true or false": 3000}, ("TRUE/FALSE", None)),
    ({"real": HALF, "padded real": 3000}, ("DOUBLE", "1234.50")),
    ({"real": HALF, "whole": 3000}, ("DOUBLE", "1234.5")),
    ({"real": HALF, "whole with point": 3000}, ("DOUBLE", "1234.0")),
    ({"comma": HALF, "whole": 3000}, ("DOUBLE", "1234,5")),
    ({"comma": HALF, "power": 3000}, ("DOUBLE", "1234,5")),
    ({"whole": HALF, "power": 3000}, ("DOUBLE", "1234.5")),
    ({"comma": HALF, "whole with comma": 3000}, ("DOUBLE", "1234,0")),
    ({"padded comma": HALF, "comma of thousandths": 3000}, ("DOUBLE", "1234,50")),
    ({"comma of thousandths": HALF, "whole": 3000}, ("BIGINT", "1,234")),
    ({"groups by comma": HALF, "whole": 3000, "comma of thousandths": HALF}, ("BIGINT", "1,234")),
    ({"real groups by comma": HALF, "real": HALF}, ("DOUBLE", "1,234.5")),
    ({"padded groups by point": HALF, "comma": HALF}, ("DOUBLE", "1.234,50")),
    ({"time": N_CELLS}, ("TIMESTAMP", None)),
    ({"spaced time": N_CELLS, "day": HALF}, ("TIMESTAMP", "%Y-%m-%d %H:%M:%S")),
    ({"UTC time": N_CELLS}, ("TIMESTAMP WITH TIME ZONE", "%Y-%m-%dT%H:%M:%SZ")),
    ({"clock": N_CELLS}, ("TIME", "%H:%M")),
    ({"clock": N_CELLS, "bare clock": 3000}, ("TIME", "%-H:%M")),
    ({"padded clock": 3000, "whole clock": 3000, "late whole clock": 3000}, ("TIME", "%H%M")),
    # Numbers of any kind, codes, months and days, and years and months.
    ({"whole": HALF, "whole clock": HALF, "late whole clock": 3000}, ("BIGINT", None)),
    ({"real": HALF, "late whole clock": 3000}, ("DOUBLE", "1234.5")),
    ({"padded clock": HALF, "whole": 3000, "late whole clock": 3000}, ("VARCHAR", None)),
    ({"year first": N_CELLS}, ("DATE", "%Y/%m/%d")),
    ({"year first seconds": N_CELLS}, ("TIMESTAMP", "%Y/%m/%d %H:%M:%S")),
    ({"whole day": N_CELLS}, ("DATE", "%Y%m%d")),
    ({"whole time": N_CELLS}, ("TIMESTAMP", "%Y%m%d%H%M%S")),
    ({"whole day": HALF, "whole": HALF}, ("BIGINT", None)),
    ({"half clock": HALF, "bare half clock": HALF}, ("TIME", "%-I:%M %p")),
    ({"day-named month": N_CELLS}, ("DATE", "%d-%b-%Y")),
    ({"named month day": HALF, "named month day bare day": 3000}, ("DATE", "%b %-d, %Y")),
    # A cell may lack the zero before its hour alone, another one that before its day.
    (
        {
            "month first / minutes": HALF,
            "either first / minutes bare day": 3000,
            "month first / minutes bare hour": 2000,
        },
        ("TIMESTAMP", "%-m/%-d/%Y %-H:%M"),
    ),
    (
        {"month first / minutes": HALF, "month first / minutes bare hour": 2000},
        ("TIMESTAMP", "%m/%d/%Y %-H:%M"),
    ),
    ({"day first /": HALF, "either first /": HALF}, ("DATE", "%d/%m/%Y")),
    ({"month first /": HALF, "either first / bare day": 3000}, ("DATE", "%-m/%-d/%Y")),
    ({"day first . seconds": HALF, "either first . seconds": 3000}, ("TIMESTAMP", "%d.%m.%Y %H:%M:%S")),
    ({"month first / half minutes": N_CELLS}, ("TIMESTAMP", "%m/%d/%Y %I:%M %p")),
    # Nothing says which of the two is the month.
    ({"either first /": N_CELLS}, ("VARCHAR", None)),
    ({"day first /": HALF, "month first /": HALF}, ("VARCHAR", None)),
    ({"day first /": HALF, "day first .": HALF}, ("VARCHAR", None)),
    ({"groups by point": HALF, "groups by comma": HALF}, ("VARCHAR", None)),
]


def test_it_finds_the_format_of_most_cells() -> None:
    for cells, expected in FORMATS:
        # Seeded; noise alone passes one of the heights with probability below 1e-6 in all cases together.
        for budget in (BUDGET, Budget(1.0, 1e-5), Budget.pure(1.0), Budget(math.inf)):
            found = physical_found(budget, 0, cells)
            assert found is not None
            assert (found.name, found.format) == expected, budget


def test_times_of_one_offset_keep_it_and_those_of_two_are_told_of() -> None:
    # Seeded; see above.
    for budget in (BUDGET, Budget(math.inf)):
        one, utc = (physical_found(budget, 0, {kind: N_CELLS}) for kind in ("time at +02:00", "zoned time"))
        assert (one and one.timezone, utc and utc.timezone) == ("+02:00", "UTC")
        for offsets, told in [
            (("+02:00", "+01:00"), r"offsets \+01:00 and \+02:00, .* declare .* timezone"),
            (("-03:00", "-04:00"), r"offsets -04:00 and -03:00"),
            (("+01:00", "+05:00"), None),
            # Of London, in two spellings of its winter.
            (("Z", "z.f", "+01:00"), r"offsets \+00:00 and \+01:00"),
        ]:
            in_utc = {"Z": "UTC time", "z.f": "zoned time"}
            cells = {in_utc.get(offset, f"time at {offset}"): HALF for offset in offsets}
            with warnings.catch_warnings() if told is None else pytest.warns(DomainWarning, match=told):
                warnings.simplefilter("error" if told is None else "always")
                both = physical_found(budget, 0, cells)
            assert both is not None
            assert both.timezone == "UTC"


def test_the_separator_of_the_file_decides_what_a_comma_means() -> None:
    cells = {"comma of thousandths": HALF, "whole": HALF}

    found = physical_found(BUDGET, 0, cells, decimal_comma=True)

    assert found is not None
    assert (found.name, found.format) == ("DOUBLE", "1234,5")


MARKS: list[tuple[str, list[str], str, str | None]] = [
    # What other cells of the file show counts for more than its separator.
    (";", ["0.74", "12.5", "3"], "DOUBLE", "1234.50"),
    (";", ["1,234,567", "2,000,000"], "DOUBLE", "1234.50"),
    (";", ["0,74", "12,5", "3"], "BIGINT", "1.234"),
    (";", ["1.5 or so", "2.5"], "BIGINT", "1.234"),
    (";", ["0,5", "0.5"], "BIGINT", "1.234"),
    (";", ["850", "12"], "BIGINT", "1.234"),
    ("\t", ["0,74", "12,5", "3"], "BIGINT", "1.234"),
    ("\t", ["850", "12"], "DOUBLE", "1234.50"),
]


@pytest.mark.parametrize("epsilon", [5.0, math.inf])
@pytest.mark.parametrize(("mark", "others", "name", "format"), MARKS)
@pytest.mark.filterwarnings("ignore:.* declare the column numeric in a schema, with .decimals")
def test_cells_of_other_columns_show_the_decimal_mark(
    tmp_path: Path, mark: str, others: list[str], name: str, format: str | None, epsilon: float
) -> None:
    rows = (f"{1 + i % 60}.{100 + i % 90}{mark}{others[i % len(others)]}" for i in range(600))
    (tmp_path / "t.csv").write_text("\n".join([f"x{mark}y", *rows]))
    ledger = Ledger(Budget(epsilon, 1e-5) if math.isfinite(epsilon) else Budget(math.inf))
    with delimited_file(tmp_path / "t.csv", None) as file:
        # Seeded, as above.
        found = find_types(
            file,
            {"x": Fraction(1, 2), "y": Fraction(1, 2)},
            ledger=ledger,
            noise=SeededNoise(0),
            progress=lambda step, done: None,
        )

    assert (found["x"].name, found["x"].format) == (name, format)
    # The same file, read as it is.
    read_whole = read(tmp_path / "t.csv").columns["x"].physical
    assert (read_whole.kind, read_whole.format) == ({"BIGINT": "integer", "DOUBLE": "float"}[name], format)


THOUSANDS = [
    ("", "", "12", ("BIGINT", "1,234")),
    ("$", "", "12", ("BIGINT", "$1,234")),
    ("", "NA", "12", ("BIGINT", "1,234")),
    ("", "", "0.5", ("BIGINT", "1,234")),
    ("", "", "0,5", ("DOUBLE", "1234,5")),
    ("", "7,5", "12", ("DOUBLE", "1234,5")),
]


@pytest.mark.parametrize("epsilon", [5.0, math.inf])
@pytest.mark.parametrize(("sign", "more", "other", "expected"), THOUSANDS)
def test_whole_numbers_beside_those_of_three_digits_behind_a_comma_are_thousands(
    tmp_path: Path, sign: str, more: str, other: str, expected: tuple[str, str], epsilon: float
) -> None:
    cells = [*(f"{sign}{250 + i * 17:,}" for i in range(400)), *[more] * 300]
    (tmp_path / "t.csv").write_text("\n".join(["x;y", *(f"{cell};{other}" for cell in cells)]))

    found = found_in(tmp_path / "t.csv", ["x", "y"], epsilon)["x"]
    exact = with_texts_read(read(tmp_path / "t.csv")).columns["x"].physical

    # Without privacy numbers with a sign are read by their texts.
    if not sign or math.isfinite(epsilon):
        assert (found.name, found.format) == expected
    assert (exact.kind, exact.format) == ({"BIGINT": "integer", "DOUBLE": "float"}[expected[0]], expected[1])


POINTS = [f"{(i % 2 and '-') or ''}{10 + i % 80}.{101 + i * 7 % 800}" for i in range(600)]


@pytest.mark.parametrize("epsilon", [5.0, math.inf])
@pytest.mark.parametrize(
    ("name", "other", "format"),
    [
        ("lat", "12", "1234.50"),
        ("start_lng", "12,5", "1234.50"),
        ("balance", "12,5", "1.234"),
        ("plate", "12,5", "1.234"),
    ],
)
def test_coordinates_are_no_thousands(
    tmp_path: Path, name: str, other: str, format: str, epsilon: float
) -> None:
    (tmp_path / "t.csv").write_text("\n".join([f"{name};y", *(f"{point};{other}" for point in POINTS)]))

    found = found_in(tmp_path / "t.csv", [name, "y"], epsilon)

    assert (found[name].kind, found[name].format) == ("integer" if format == "1.234" else "float", format)
    assert read(tmp_path / "t.csv").columns[name].physical.format == format


@pytest.mark.parametrize(
    ("lines", "names"),
    [(POINTS, ["x"]), ([*POINTS, *["950"] * 200], []), ([*POINTS, *["2.345.678"] * 200], [])],
)
def test_numbers_that_may_be_thousands_or_thousandths_are_told_of(
    tmp_path: Path, lines: list[str], names: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["x;y", *(f"{line};a" for line in lines)]))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = found_in(tmp_path / "t.csv", ["x"], 5.0)

    assert found["x"].format == "1.234"
    assert [name for name in ("x", "y") if any(repr(name) in str(w.message) for w in caught)] == names
    assert any(
        "three digits behind one point" in note for note in draft_schema(tmp_path / "t.csv")[1]
    ) == bool(names)


@pytest.mark.parametrize(
    ("mark", "cell", "told"),
    [
        (";", "{}.{} €", "are read as thousands"),
        (",", "{}.{} €", "are read as decimals; if they are thousands"),
        (",", "{}.{} %", ""),
    ],
)
def test_amounts_that_may_be_thousands_are_told_of(tmp_path: Path, mark: str, cell: str, told: str) -> None:
    rows = (f"{cell.format(1 + i % 9, 101 + i * 7 % 800)}{mark}a" for i in range(900))
    (tmp_path / "t.csv").write_text("\n".join([f"x{mark}y", *rows]), encoding="utf-8")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found_in(tmp_path / "t.csv", ["x"], 5.0)

    assert [str(w.message) for w in caught if "'x'" in str(w.message) and told in str(w.message)] == [
        str(w.message) for w in caught
    ]
    assert bool(caught) == bool(told)
    notes = [note for note in draft_schema(tmp_path / "t.csv")[1] if "thousands, 1.234" in note]
    assert bool(notes) == bool(told)


def found_in(path: Path, names: list[str], epsilon: float) -> dict[str, PhysicalType]:
    ledger = Ledger(Budget(epsilon, 1e-5) if math.isfinite(epsilon) else Budget(math.inf))
    with delimited_file(path, None) as file:
        # Seeded, as above.
        return find_types(
            file,
            {name: Fraction(1, 2) for name in names},
            ledger=ledger,
            noise=SeededNoise(0),
            progress=lambda step, done: None,
        )


STYLES: list[tuple[list[str], str, tuple[str, str | None]]] = [
    (["12 %", "7 %"], ",", ("BIGINT", "1234 %")),
    (["$1,234.50", "$7.25", "-$3.00"], ",", ("DOUBLE", "$1,234.50")),
    (["1.234 €", "2.345.678 €"], ";", ("BIGINT", "1.234 €")),
    (["1\u202f234,50\u00a0€", "7,25\u00a0€"], ";", ("DOUBLE", "1\u202f234,50\u00a0€")),
    (["1 234,5", "7,25"], ";", ("DOUBLE", "1 234,5")),
    (["1'234", "950"], ",", ("BIGINT", "1'234")),
    (["122'234", "950'123"], ",", ("BIGINT", "1'234")),
    (["12 345", "31 020"], ",", ("BIGINT", "1 234")),
    (["612 345 678", "12 345"], ",", ("BIGINT", "1 234")),
    (["64.6 kg", "70.25 kg", "71 kg"], ",", ("DOUBLE", "1234.5 kg")),
    (["12km", "7km"], ",", ("BIGINT", "1234km")),
    (["12,50 EUR", "7,25 EUR"], ";", ("DOUBLE", "1234,50 EUR")),
    (["12 345,50 EUR", "7,25 EUR"], ";", ("DOUBLE", "1 234,50 EUR")),
    (["12,345.50 USD", "7.25 USD"], ",", ("DOUBLE", "1,234.50 USD")),
    (["1 234 kg", "70 kg"], ",", ("BIGINT", "1 234 kg")),
    (["CHF 7'342.44", "CHF 12.10", "CHF -5.00"], ",", ("DOUBLE", "CHF 1'234.50")),
    (["EUR 1.234,50", "EUR 7,20"], ";", ("DOUBLE", "EUR 1.234,50")),
    (["CHF 12.50", "USD 12.50"], ",", ("VARCHAR", None)),
    (["EUR12", "EUR17"], ",", ("VARCHAR", None)),
    (["12 kg", "12 lb"], ",", ("VARCHAR", None)),
    (["12a", "12m"], ",", ("VARCHAR", None)),
    # Two signs, and numbers of telephones.
    (["12 %", "12 €"], ",", ("VARCHAR", None)),
    (["612 345 678", "655 123 456"], ",", ("VARCHAR", None)),
    (["612 345 678", "655123456"], ",", ("VARCHAR", None)),
    (["612 345", "655 123"], ",", ("VARCHAR", None)),
    (["+34 612 345 678", "+48 655 123 456"], ",", ("VARCHAR", None)),
    (["12 34", "12 56"], ",", ("VARCHAR", None)),
]


@pytest.mark.parametrize(("cells", "mark", "expected"), STYLES)
def test_numbers_in_one_style_are_numbers(
    tmp_path: Path, cells: list[str], mark: str, expected: tuple[str, str | None]
) -> None:
    rows = (f'"{cells[i % len(cells)]}"{mark}{i}' for i in range(900))
    (tmp_path / "t.csv").write_text("\n".join([f"x{mark}y", *rows]), encoding="utf-8")
    with delimited_file(tmp_path / "t.csv", None) as file:
        # Seeded, as above.
        found = find_types(
            file,
            {"x": Fraction(1, 2)},
            ledger=Ledger(Budget(5.0, 1e-5)),
            noise=SeededNoise(0),
            progress=lambda step, done: None,
        )
        column = file.typed({**found, "y": PhysicalType("integer", "BIGINT")}).columns["x"]

    assert (found["x"].name, found["x"].format) == expected
    assert not column.missing.any()


def test_few_cells_in_another_form_do_not_change_the_format() -> None:
    cells = {"day first /": N_CELLS, "month first /": 9, "text": 9, "comma": 9}

    formats = {getattr(physical_found(BUDGET, seed, cells), "format", "") for seed in range(20)}

    assert formats == {"%d/%m/%Y"}


def test_days_with_a_short_year_are_read_in_the_order_that_their_separator_has() -> None:
    for first, order, format in (
        (".", "day first", "%d.%m.%y"),
        ("/", "month first", "%m/%d/%y"),
        (".", "month first", None),
        ("/", "day first", None),
    ):
        # Seeded, as above.
        for share_of_other in (0, HALF):
            cells = {f"{order} {first} short": HALF, f"either first {first} short": share_of_other}
            found = physical_found(BUDGET, 0, cells)
            assert getattr(found, "format", "") == format
        assert getattr(physical_found(BUDGET, 0, {f"either first {first} short": HALF}), "format", "") is None


def type_found(budget: Budget = BUDGET, seed: int = 0, **cells: int) -> str:
    counts = {kind.replace("_", " "): n for kind, n in cells.items()}
    kinds = np.concatenate([np.full(n, CELL_KINDS.index(kind)) for kind, n in counts.items()])
    ledger = Ledger(budget)

    physical = find_type("x", kinds.astype(np.int64), share=SHARE, ledger=ledger, noise=SeededNoise(seed))

    assert [entry.step for entry in ledger.entries] == ["find the type of 'x'"]
    assert budget.total is None or ledger.spent <= SHARE * budget.total
    if physical is None:
        return "hidden"
    assert (physical.timezone == "UTC") == (physical.name == "TIMESTAMP WITH TIME ZONE")
    return physical.name


def test_it_reads_all_kinds_of_cells_that_stand_out() -> None:
    cases = [
        ({"true or false": N_CELLS}, "BOOLEAN"),
        ({"whole": N_CELLS}, "BIGINT"),
        ({"long whole": N_CELLS}, "BIGINT"),
        ({"whole": N_CELLS // 2, "real": N_CELLS // 2}, "DOUBLE"),
        ({"long whole": N_CELLS // 2, "real": N_CELLS // 2}, "VARCHAR"),
        ({"day": N_CELLS}, "DATE"),
        ({"day": N_CELLS // 2, "time": N_CELLS // 2}, "TIMESTAMP"),
        ({"zoned time": N_CELLS}, "TIMESTAMP WITH TIME ZONE"),
        ({"spaced time": N_CELLS // 2, "zoned time": N_CELLS // 2}, "VARCHAR"),
        ({"text": N_CELLS}, "VARCHAR"),
        ({"whole": N_CELLS // 2, "text": N_CELLS // 2}, "VARCHAR"),
        ({"true or false": N_CELLS // 2, "whole": N_CELLS // 2}, "VARCHAR"),
    ]
    for cells, expected in cases:
        # Seeded; noise alone passes one of the heights with probability below 1e-7.
        for budget in (BUDGET, Budget(1.0, 1e-5), Budget.pure(1.0)):
            assert (
                type_found(budget, **{kind.replace(" ", "_"): n for kind, n in cells.items()}) == expected
            ), budget


def test_a_family_of_many_kinds_hides_no_other_by_its_noise() -> None:
    counts = dict.fromkeys(CELL_KINDS, 0.0) | {"day": 180.0, "time": 170.0, "spaced time": 160.0}
    # Forty offsets have more noise together than a column has days.
    counts |= {kind: 15.0 for kind in CELL_KINDS if kind.startswith("time at ")}

    found = likely_type(counts, 150.0)

    assert found is not None
    assert found.kind == "date"


class TestFewCells:
    def test_do_not_change_the_type_of_many(self) -> None:
        assert {
            type_found(seed=seed, whole=N_CELLS, real=9, text=9, true_or_false=9) for seed in range(20)
        } == {"BIGINT"}

    def test_alone_are_hidden_by_noise(self) -> None:
        assert {type_found(seed=seed, whole=9) for seed in range(20)} == {"hidden"}

    def test_count_without_privacy(self) -> None:
        free = Budget(math.inf)
        assert type_found(free, whole=N_CELLS, text=1) == "VARCHAR"
        assert type_found(free, whole=N_CELLS, real=1) == "DOUBLE"
        assert type_found(free, whole=1) == "BIGINT"
        assert type_found(free, text=0) == "hidden"
