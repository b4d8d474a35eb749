"""Drafted schemas fit the table that they were read off, and say that they were."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas
import pandas as pd
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_columns import raw

from syntabula import MST
from syntabula.errors import SchemaError
from syntabula.table.coding.codec import Codec
from syntabula.table.draft import draft_schema, draft_with_rules
from syntabula.table.frames.text_numbers import with_texts_read
from syntabula.table.raw import Origin, RawTable
from syntabula.table.read import read
from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Identifier, Numeric, Time


def draft_one(raw_column, name="x"):
    """Draft a column and check that the codec then reads the table without any coercion."""
    values = RawTable({name: raw_column}, raw_column.missing.size, Origin("pandas", {}))
    schema, notes = draft_schema(values)
    assert schema.observed_columns == (name,)
    if not isinstance(schema[name], Identifier):
        _, coercions = Codec.plan(schema).encode(with_texts_read(values), strict=True)
        assert not coercions
    return schema[name], notes


def observed(column_type, *arguments, **options):
    return column_type(*arguments, **options, provenance="observed")


class TestKinds:
    def test_domains_are_read_off(self):
        cases = [
            (raw("text", ["b", "a", "b"]), observed(Categorical, ("a", "b"))),
            (raw("text", ["b", None, ""]), observed(Categorical, ("", "b"), nullable=True)),
            (raw("boolean", [True, None]), observed(Boolean, nullable=True)),
            (raw("integer", [3, 1, 3]), observed(Categorical, (1, 3))),
            (raw("integer", [*range(0, 100, 2), 0]), observed(Numeric, 0, 98, integer=True)),
            (raw("integer", [2**64 - 1], dtype=np.uint64), observed(Categorical, (2**64 - 1,))),
            (raw("float", [0.25, 1.5]), observed(Numeric, 0.25, 1.5, decimals=2)),
            (raw("float", [1 / 3, 1.5]), observed(Numeric, 1 / 3, 1.5)),
            (raw("float", [4.9 - 3.8, 1.5]), observed(Numeric, 1.1, 1.5, decimals=1)),
            (raw("float", [1.0, 2.0]), observed(Numeric, 1.0, 2.0, decimals=0)),
            (raw("float", [1.0, 2.0, None]), observed(Categorical, (1, 2), nullable=True)),
            (raw("float", [7.5]), observed(Numeric, 7.5, 7.5, decimals=1)),
            (raw("decimal", [Decimal("0.10"), Decimal("2.35")]), observed(Numeric, 0.1, 2.35, decimals=2)),
        ]
        for raw_column, column in cases:
            assert draft_one(raw_column)[0] == column

    def test_large_integers_stay_exact(self):
        column, _ = draft_one(raw("integer", [2**53 + 1 + 3 * i for i in range(30)] + [2**53 + 1]))
        assert column == observed(Numeric, 2**53 + 1, 2**53 + 88, integer=True)

    def test_numbers_of_rows_of_any_name_are_keys_and_those_like_accounts_are_noted(self):
        numbers = [10 * i + j for i in range(20) for j in range(9)]
        column, _ = draft_one(raw("integer", numbers))
        assert column == observed(Identifier, integer=True)
        for values, noted in [
            ([70_000 + 37 * n + n % 5 for n in numbers], True),
            ([700 + 3 * n + n % 2 for n in range(90)], False),
            ([70_000 + 37 * (n // 2) for n in numbers], False),
        ]:
            column, notes = draft_one(raw("integer", values))
            assert isinstance(column, Numeric)
            assert any("if it is a key, such as the number of an account" in note for note in notes) is noted

    def test_days_and_moments_are_read_off(self):
        column, _ = draft_one(raw("date", [0, 364, None]))
        assert isinstance(column, Date)
        assert column.grid() == (0, 364)
        for step, resolution in [(86_400_000_000, "day"), (1_000_000, "second"), (1, "microsecond")]:
            column, _ = draft_one(raw("datetime", [-step, 0, 7 * step]))
            assert isinstance(column, Datetime)
            assert column.resolution == resolution
            assert column.grid() == (-1, 7)
        column, _ = draft_one(raw("datetime", [0, 7], zone="Europe/Paris"))
        assert column.timezone == "Europe/Paris"

    def test_infinite_values_are_told(self):
        schema, notes = draft_schema(
            RawTable({"x": raw("float", [0.5, float("inf")])}, 2, Origin("pandas", {}))
        )
        assert schema["x"] == observed(Numeric, 0.5, 0.5, decimals=1, nullable=True)
        assert notes[0] == "column 'x': holds infinite values, which count as missing"

    def test_columns_without_values_get_a_placeholder(self):
        for kind in ["boolean", "integer", "float", "decimal", "text", "date", "datetime"]:
            for values in ([None, None], []):
                column, notes = draft_one(raw(kind, values))
                assert column.nullable
                assert "placeholder" in notes[0]


class TestOrderOfCategories:
    def test_a_stored_order_is_kept_for_the_categories_that_cells_hold(self):
        labels, cells = ["small", "big", "huge", "never"], ["huge", "small", None, "big"] * 9
        frames = [
            polars.DataFrame({"x": cells}, schema={"x": polars.Enum(labels)}),
            pandas.DataFrame({"x": pandas.Categorical(cells, labels, ordered=True)}),
        ]
        for frame in frames:
            assert draft_schema(frame)[0]["x"].categories == ("small", "big", "huge")

    def test_without_one_it_is_that_of_the_alphabet(self):
        for kind in (polars.Categorical, polars.String):
            frame = polars.DataFrame({"x": ["huge", "small", "big"] * 9}, schema={"x": kind})

            assert draft_schema(frame)[0]["x"].categories == ("big", "huge", "small")


class TestNotes:
    def test_one_note_tells_of_all_columns_of_which_it_holds(self):
        columns = {name: raw("float", [1.0, 2.0, None]) for name in ("a", "b")} | {
            "c": raw("text", ["x"] * 3)
        }

        _, notes = draft_schema(RawTable(columns, 3, Origin("pandas", {})))

        assert notes == ["columns 'a', 'b': each holds only whole numbers, so it is treated as integer"]

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("form", "kind", "format"),
        [
            ("2020-{m:02}-{d:02}", "date", None),
            ("{d:02}.{m:02}.2020", "date", "%d.%m.%Y"),
            ("2020/{m:02}/{d:02}", "date", "%Y/%m/%d"),
            ("2020-{m:02}-{d:02} {d:02}:30:0{m}", "datetime", "%Y-%m-%d %H:%M:%S"),
            ("2020-{m:02}-{d:02}T{h:02}:30:00+0{m}:00", "datetime", None),
            ("{h:02}:{d:02}", "time", "%H:%M"),
        ],
    )
    def test_days_and_times_that_are_stored_as_text_are_proposed_as_such(self, form, kind, format):
        texts = [form.format(d=d, m=m, h=d % 24) for m in (1, 2) for d in range(1, 24)]

        # They all differ: of keys of their pattern, the month would be any number.
        column, notes = draft_one(raw("text", texts))

        assert (column.kind, column.format) == (kind, format)
        assert not notes

    @pytest.mark.parametrize(
        ("form", "noted"),
        [("€0{n}", "sign"), ("{n}.5 $", "sign"), ("0{n}", ""), ("x{n}", "")],
    )
    def test_numbers_with_signs_that_cannot_be_read_are_pointed_out(self, form, noted):
        others = ["€ 5"] if noted else []
        _, notes = draft_one(raw("text", [*others, *(form.format(n=n) for n in range(1, 99))]))

        assert any("declare it numeric, with the `format`" in note for note in notes) == bool(noted)

    def test_numbers_with_texts_among_them_are_pointed_out(self):
        _, mixed = draft_one(raw("text", ["trace", *(f"{n / 10}" for n in range(5, 99))] * 3))
        _, codes = draft_one(raw("text", ["X", *(f"{n:03d}" for n in range(5, 99))] * 3))

        assert any("with these texts as `texts`" in note for note in mixed)
        assert not any("holds numbers and some texts" in note for note in codes)

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("numbers", "limits", "found"),
        [
            (
                [f"{n / 10:g}" for n in range(5, 99)],
                ["<0.5", ">9.8"],
                {"lower": 0.5, "upper": 9.8, "decimals": 1},
            ),
            ([f"{n}" for n in range(5, 99)], ["< 5"], {"lower": 5, "upper": 98, "integer": True}),
            ([f"{n}" for n in range(905, 960)], ["<LOD"], {"lower": 905, "upper": 959, "integer": True}),
            (
                [f"{n / 100:.2f}".replace(".", ",") for n in range(105, 199)],
                ["≤1,05"],
                {"lower": 1.05, "upper": 1.98, "decimals": 2, "format": "1234,50"},
            ),
        ],
    )
    def test_numbers_with_limits_are_numbers_with_texts_beside_them(self, numbers, limits, found):
        column, notes = draft_one(raw("text", [*limits, *numbers] * 2))
        nullable, _ = draft_one(raw("text", [None, *limits, *numbers]))

        form = {"format": "1234.5"} if "decimals" in found else {}
        assert column == observed(Numeric, **(form | found), texts=tuple(limits))
        assert nullable == observed(Numeric, **(form | found), texts=tuple(limits), nullable=True)
        assert not any(limit in note for note in notes for limit in limits)

    @pytest.mark.parametrize(
        ("form", "format", "number"),
        [
            ("1,{n},345", "12,34,567", 110345),
            ("₹{n},12,345.50", "₹12,34,567.50", 1012345.5),
            ("{n},345.5", "1,234.5", 10345.5),
        ],
    )
    def test_numbers_in_groups_of_two_digits_are_read(self, form, format, number):
        texts = [form.format(n=n) for n in range(10, 99)]

        column, _ = draft_one(raw("text", texts))

        assert (column.kind, column.format, column.lower) == ("numeric", format, number)

    def test_days_whose_century_is_open_are_told_of_though_they_hardly_repeat(self):
        texts = [
            f"{day:02d}.{month:02d}.{year}" for day in range(1, 29) for month in (1, 2) for year in (48, 75)
        ]

        column, notes = draft_one(raw("text", texts))

        assert isinstance(column, Identifier)
        assert "looks like days" in notes[0]

    @pytest.mark.parametrize(
        ("form", "format", "bounds"),
        [
            ("{n}%", "1234%", (10, 98)),
            ("-{n}.5 %", "1234.5 %", (-98.5, -10.5)),
            ("€{n},034.50", "€1,234.50", (10034.5, 98034.5)),
            ("-${n}.25", "$1234.5", (-98.25, -10.25)),
            ("{n}.034,5 €", "1.234,5 €", (10034.5, 98034.5)),
            ("{n}'034.50", "1'234.50", (10034.5, 98034.5)),
            ("{n} 034,5", "1 234,5", (10034.5, 98034.5)),
            ("{n} 034 €", "1 234 €", (10034, 98034)),
            ("{n}.5 km", "1234.5 km", (10.5, 98.5)),
        ],
    )
    def test_numbers_with_a_sign_or_groups_are_numbers_in_a_format(self, form, format, bounds):
        texts = [form.format(n=n) for n in range(10, 99)] * 2

        column, _ = draft_one(raw("text", texts))

        assert isinstance(column, Numeric)
        assert (column.format, (column.lower, column.upper)) == (format, bounds)

    @pytest.mark.parametrize(
        ("form", "pattern"),
        [
            ("+49 {n}3444", r"\+\d{2} \d{6}"),
            ("0351 {n}3 444", r"\d{4} \d{3} \d{3}"),
            ("+49 {n}1 234", r"\+\d{2} \d{3} \d{3}"),
        ],
    )
    def test_phones_are_no_numbers_in_groups(self, form, pattern):
        column, notes = draft_one(raw("text", [form.format(n=n) for n in range(10, 99)]))

        assert (column.kind, column.pattern) == ("identifier", pattern)
        assert not any("sign of a currency" in note for note in notes)

    @pytest.mark.parametrize(
        ("rows", "bounds", "format"),
        [
            (["x,y", '"1,234",1', '"2,345",2', '"12,345,678",3', "NA,4"], (1_234, 12_345_678), "1,234"),
            (["x;y", "5,0;1", "6,0;2", ";3"], (5, 6), "1234,0"),
        ],
    )
    def test_few_of_them_are_no_categories_which_have_no_format(self, tmp_path, rows, bounds, format):
        (tmp_path / "t.csv").write_text("\n".join([rows[0], *rows[1:] * 40]))

        schema, _ = draft_schema(tmp_path / "t.csv")

        column = schema["x"]
        assert isinstance(column, Numeric)
        assert ((column.lower, column.upper), column.format, column.nullable) == (bounds, format, True)
        assert read(tmp_path / "t.csv", schema).columns["x"].missing.sum() == 40

    @pytest.mark.parametrize(
        ("mark", "cells", "bounds", "format"),
        [
            (";", ["5", "2.116", "999", "45.000"], (5, 45_000), "1.234"),
            (";", ["38.500", "45.000"], (38_500, 45_000), "1.234"),
            (";", ["0.250", "2.116", "45.000"], (0.25, 45.0), "1234.500"),
            (",", ["5", "2.116", "999", "45.001"], (2.116, 999.0), "1234.5"),
        ],
    )
    def test_a_point_before_three_digits_is_no_decimal_point_beside_semicolons(
        self, tmp_path, mark, cells, bounds, format
    ):
        rows = [mark.join(("x", "y")), *(f"{cell}{mark}{i}" for i, cell in enumerate(cells * 30))]
        (tmp_path / "t.csv").write_text("\n".join(rows))

        schema, _ = draft_schema(tmp_path / "t.csv")

        column = schema["x"]
        assert isinstance(column, Numeric)
        assert ((column.lower, column.upper), column.format) == (bounds, format)
        values = read(tmp_path / "t.csv", schema).columns["x"].values
        assert (values.min(), values.max()) == bounds

    def test_negative_numbers_in_the_way_of_accountants_are_pointed_out(self):
        for form in ("({n},034.50)", "{n}.5-", "(${n})"):
            texts = [form.format(n=n) if n % 2 else f"{n}.5" for n in range(10, 99)]

            _, notes = draft_one(raw("text", texts * 2))

            assert any("write the minus in front" in note for note in notes)

    def test_words_for_a_missing_number_are_kept_as_texts(self):
        column, _ = draft_one(raw("text", ["N/A", "-", *(f"{n / 10}" for n in range(100))]))

        assert column.texts == ("-", "N/A")

    def test_numbers_and_limits_of_a_workbook_are_drafted_too(self):
        cells = pandas.Series(["<0.5", *(n / 10 for n in range(5, 99)), 7, None], dtype=object)

        schema, _ = draft_schema(pandas.DataFrame({"x": cells}))

        assert schema["x"].texts == ("<0.5",)
        assert (schema["x"].lower, schema["x"].upper, schema["x"].nullable) == (0.5, 9.8, True)

    @pytest.mark.parametrize(
        ("kind", "values", "noted"),
        [
            ("integer", [10 * n for n in range(29)], True),
            ("float", [n / 4 for n in range(100)], True),
            ("float", [10.0 * n for n in range(29)], True),
            ("integer", [10 * n for n in range(29)] + [15, 17], False),
            # Grades in halves are few, but many enough.
            ("float", [n / 2 for n in range(2, 12)], True),
            ("float", [n / 2 for n in range(2, 10)], False),
            ("float", [n / 100 for n in range(100)], False),
            ("float", [n / 3 for n in range(100)], False),
        ],
    )
    def test_multiples_of_one_number_are_pointed_out(self, kind, values, noted):
        column, note = draft_one(raw(kind, values * 3))

        assert isinstance(column, Numeric)
        assert ("declare the number as `step`" in (note[0] if note else "")) == noted

    def test_days_among_other_texts_stay_categories(self):
        column, _ = draft_one(raw("text", ["2020-01-01", "2020-01-02", "unknown"] * 9))

        assert isinstance(column, Categorical)

    @pytest.mark.parametrize("form", ["{d}/{m}/20", "{d:02}.0{m}.48", "{d:02}-JAN-2{m}"])
    def test_days_that_are_written_otherwise_are_pointed_out(self, form):
        texts = [form.format(m=m, d=d) for m in (1, 2) for d in range(1, 29)] * 2

        _, notes = draft_one(raw("text", texts))

        assert "declare it a date, with the `format`" in notes[0]

    def test_numbers_that_look_like_codes_are_pointed_out(self):
        for raw_column, noted in [
            (raw("float", [9.99, 49.0, 499.0] * 50), True),
            (raw("float", [1 / 3, 2 / 3] * 50), True),
            (raw("integer", [1000 * i for i in range(30)] * 20), True),
            (raw("float", [9.99, 49.0, 499.0]), False),
            (raw("float", [0.1, 0.2, 0.3] * 50), False),
            (raw("integer", [*range(60)] * 20), False),
            (raw("integer", [1000 * i for i in range(30)]), False),
        ]:
            column, notes = draft_one(raw_column)

            assert isinstance(column, Numeric)
            assert any("declare it categorical" in note for note in notes) is noted

    def test_numbers_with_a_decimal_comma_are_numbers_and_padded_ones_pointed_out(self):
        column, _ = draft_one(raw("text", [f"{i},5" for i in range(50)] * 2))
        assert column == observed(Numeric, 0.5, 49.5, decimals=1, format="1234,5")

        column, notes = draft_one(raw("text", [f"0{i},5" for i in range(50)] * 2))
        assert isinstance(column, Identifier)
        assert "decimal comma" in notes[0]


DAY = [100 * hour + minute for hour in range(24) for minute in range(0, 60, 5)]


DAYS = [20230000 + 100 * month + day for month in range(1, 13) for day in range(1, 28)]


class TestDaysWithoutSeparators:
    def test_whole_numbers_that_look_so_are_proposed_as_such(self):
        for kind, values, missing in [
            ("integer", DAYS, []),
            ("float", DAYS, [None]),
            ("float", DAYS, [math.nan]),
        ]:
            table = raw(kind, [*values, *values, *missing])
            schema, notes = draft_schema(RawTable({"x": table}, table.missing.size, Origin("pandas", {})))

            assert schema["x"] == observed(
                Date, dt.date(2023, 1, 1), dt.date(2023, 12, 27), format="%Y%m%d", nullable=bool(missing)
            )
            assert "declare it numeric" in notes[0]

    def test_so_are_times_and_what_follows_from_days(self, tmp_path):
        lines = [f"{d},{d}093000" for d in DAYS] * 2
        (tmp_path / "t.csv").write_text("\n".join(["day,at", *lines]) + "\n")

        schema, _, rules = draft_with_rules(read(tmp_path / "t.csv"))

        assert (schema["at"].format, schema["at"].lower) == ("%Y%m%d%H%M%S", dt.datetime(2023, 1, 1, 9, 30))
        assert rules.derive["day"] == '"at"::DATE'

    @pytest.mark.parametrize(
        "values",
        [DAYS[:20], [*DAYS, 20230230], [*DAYS, 99], [*DAYS, 202301010930], [d - 5_000_000 for d in DAYS]],
    )
    def test_other_numbers_are_not(self, values):
        column = draft_one(raw("integer", [*values] * 2))[0]
        assert isinstance(column, Numeric | Categorical)


class TestClockTimesWithoutAColon:
    def test_whole_numbers_that_look_so_are_proposed_as_such(self):
        quarters = [100 * hour + minute for hour in range(8, 20) for minute in (0, 15, 30, 45)]
        for name, values in [
            ("dep_time", DAY), ("CRSDepTime", DAY[::7]), ("Uhrzeit", quarters), ("x", DAY), ("x", [*DAY, 2400])
        ]:  # fmt: skip
            column, notes = draft_one(raw("integer", [*values] * 3), name)

            assert column == observed(Time, format="1435")
            assert "declare it numeric" in notes[0]

    def test_other_numbers_are_not(self):
        for name, values in [
            ("x", DAY[::7]),
            ("travel_time", range(5, 300)),
            ("dep_time", [*DAY, 1275]),
            ("dep_time", [*DAY, 2401]),
            ("start_time", range(1990, 2024)),
            ("x", [100 * month + day for month in range(1, 13) for day in range(1, 29)]),
            ("x", range(0, 2400, 50)),
            ("x", [100 * hour + minute for hour in range(24) for minute in (0, 15, 30, 45)]),
            ("run_time", range(0, 2400, 50)),
            ("run_time", range(0, 2400, 15)),
        ]:
            assert isinstance(draft_one(raw("integer", [*values] * 3), name)[0], Numeric)

    def test_numbers_with_a_missing_one_are_too(self):
        column, _ = draft_one(raw("float", [*DAY * 3, math.nan]), "dep_time")

        assert column == observed(Time, format="1435", nullable=True)

    @pytest.mark.parametrize("last", [2355, 2400])
    def test_a_draft_of_a_file_reads_digits_as_clock_times(self, tmp_path, last):
        texts = [f"{t // 100:02}:{t % 100:02}" for t in [*DAY * 3, last]]
        lines = [
            "call,dep_time,at",
            *(f"{t:04},{t},{text}" for t, text in zip([*DAY * 3, last], texts, strict=True)),
        ]
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")

        schema, notes = draft_schema(tmp_path / "t.csv")

        assert schema["call"] == observed(Time, format="%H%M")
        assert schema["dep_time"] == observed(Time, format="1435")
        assert schema["at"] == observed(Time, format="%H:%M", resolution="minute")
        # The end of the day becomes its last minute.
        table = read(tmp_path / "t.csv", schema)
        ends = [
            schema[n].points(c.values[-1:], c.physical.kind)[0].tolist() for n, c in table.columns.items()
        ]
        assert ends == [[1435 if last == 2355 else 1439]] * 3
        assert "if they are codes" in "".join(notes)


class TestFilesWhoseFirstRowsTellLittle:
    @pytest.mark.parametrize(
        ("first", "later", "kind", "format"),
        [
            ("03.01.2024", "29.02.2024", Date, "%d.%m.%Y"),
            ("01/02/2024 08:30", "02/13/2024 09:15", Datetime, "%m/%d/%Y %H:%M"),
            ("", "31.12.2020", Date, "%d.%m.%Y"),
            ("0", "12,5", Numeric, "1234,5"),
            ("17", "2.500", Numeric, "1.234"),
        ],
    )
    def test_the_later_ones_tell_the_form(self, tmp_path, first, later, kind, format):
        rows = [f"{first};{i}" for i in range(1_200)] + [f"{later};{i}" for i in range(100)]
        (tmp_path / "t.csv").write_text("\n".join(["x;row", *rows]))

        schema, _ = draft_schema(tmp_path / "t.csv")

        assert isinstance(schema["x"], kind)
        assert schema["x"].format == format


@pytest.mark.parametrize(
    ("places", "format"), [(2, "1234.50"), (6, "1234.500000"), (12, "1234.500000000000")]
)
def test_as_many_decimals_are_written_as_each_cell_has(tmp_path, places, format):
    rng = np.random.default_rng(0)
    (tmp_path / "t.csv").write_text("\n".join(["x", *(f"{v:.{places}f}" for v in rng.normal(48, 1, 300))]))

    schema, _ = draft_schema(tmp_path / "t.csv")

    assert (schema["x"].decimals, schema["x"].format) == (places, format)


class TestIdentifiers:
    def test_what_differs_in_every_row_is_an_identifier(self):
        for raw_column, name in [
            (raw("text", [f"u{i}" for i in range(50)]), "x"),
            (raw("integer", range(1000, 1050)), "x"),
            (raw("integer", range(0, 5000, 7)), "patient_id"),
            (raw("integer", range(0, 5000, 7)), "patientId"),
            (raw("text", [f"u{i // 1.5}" for i in range(3000)]), "x"),
        ]:
            column, notes = draft_one(raw_column, name)
            assert isinstance(column, Identifier)
            assert "identifier" in notes[0]

    def test_thousands_of_texts_with_few_rows_each_are_not_listed(self):
        hosts = [f"Host {'abcdefghij'[i % 10]} {i}" for i in range(1_200)]

        listed, _ = draft_one(raw("text", hosts * 10), "host")
        few, notes = draft_one(raw("text", (hosts * 10)[:-1]), "host")

        assert isinstance(listed, Categorical)
        assert isinstance(few, Identifier)
        assert few.distinct in (None, 1_200)
        assert "declare it categorical" in notes[0]
        assert "Host" not in notes[0]

    def test_unique_integers_of_another_name_are_numbers(self):
        for name in ["x", "paid", "width"]:
            assert isinstance(draft_one(raw("integer", range(0, 5000, 7)), name)[0], Numeric)


class TestCodesOfMissingCells:
    @pytest.mark.parametrize(("code", "kind"), [(999, "integer"), (-99, "integer"), (9999, "float")])
    def test_nines_far_beyond_the_others_are_noted_without_the_number(self, code, kind):
        ages = [*range(90), code] if kind == "integer" else [*(n / 10 for n in range(90)), float(code)]

        _, notes = draft_one(raw(kind, ages * 3), "age")

        (note,) = [note for note in notes if "`missing_as`" in note]
        assert str(abs(code)) not in note

    def test_other_numbers_are_not(self):
        for last in (99, 950):
            _, notes = draft_one(raw("integer", [*range(90), last] * 3), "age")
            assert not any("`missing_as`" in note for note in notes)


class TestKeysOfOthers:
    def test_texts_that_come_again_are_keys_and_no_thousands_of_categories(self):
        orders = pd.DataFrame(
            {"order_id": [f"2015-{i // 3:06d}" for i in range(4_000)], "sold": [1, 2] * 2_000}
        )

        schema, notes = draft_schema(orders)

        assert schema["order_id"] == Identifier(pattern=r"\d{4}-\d{6}", distinct=1_334, provenance="observed")
        assert any("several rows each, so it is treated as an identifier" in note for note in notes)
        release = MST(epsilon=2.0, delta=1e-6, seed=1, allow_observed=True).fit(orders, schema)
        assert release.sample(4_000, seed=1)["order_id"].nunique() <= 1_334

    def test_few_remain_categories(self):
        stores = pd.DataFrame({"store_id": [f"S{i % 40:02d}" for i in range(400)]})
        assert draft_schema(stores)[0]["store_id"].kind == "categorical"


class TestKeysOfPersons:
    def test_keys_with_several_rows_are_noted_with_the_remedy(self):
        for kind in ["integer", "text"]:
            values = [f"k{i // 4}" if kind == "text" else 70_000 + 13 * (i // 4) for i in range(400)]

            column, notes = draft_one(raw(kind, values), "client_id")

            assert isinstance(column, Identifier), "a draft that lists keys would name persons"
            assert any("several rows" in note and "unit: client_id" in note for note in notes)
            assert not any("k7" in note or "70013" in note for note in notes)

    def test_their_pattern_has_keys_to_spare(self):
        for n, pattern in [(60, r"[1-9]\d{2}"), (100, None)]:
            assert draft_one(raw("integer", [*range(100, 100 + n)] * 4), "client_id")[0].pattern == pattern
        for n, pattern in [(60, r"k\d{3}"), (101, None)]:
            assert (
                draft_one(raw("text", [f"k{i:03d}" for i in range(n)] * 4), "client_id")[0].pattern == pattern
            )

    def test_other_keys_are_noted_and_stay_as_they_are(self):
        column, notes = draft_one(raw("integer", [70_000 + i // 4 for i in range(400)]), "shelf_no")

        assert isinstance(column, Numeric)
        assert any("unit: shelf_no" in note for note in notes)

    def test_other_columns_are_not(self):
        for name, values in [
            ("client_id", [*range(400)]),
            ("client_id", [i % 5 for i in range(400)]),
            ("client_id", [i % 30 for i in range(9000)]),
            ("age", [i // 4 for i in range(400)]),
        ]:
            assert not any("unit:" in note for note in draft_one(raw("integer", values), name)[1])

    def test_a_key_that_is_named_after_persons_alone_is_one_too(self):
        cells = [f"P{i:05d}" for i in range(400)] * 2
        for name, kind in {"patient": Identifier, "IBAN": Identifier, "ward": Categorical}.items():
            column, notes = draft_one(raw("text", cells), name)

            assert isinstance(column, kind)
            assert any("unit: " in note for note in notes) is (kind is Identifier)

    def test_flags_that_are_named_after_persons_are_none(self):
        column, notes = draft_one(raw("text", ["yes", "no"] * 50), "customer")

        assert isinstance(column, Categorical)
        assert not any("unit: " in note for note in notes)


class TestRefusals:
    def test_what_no_column_can_hold_is_refused_by_name(self):
        for raw_column in [raw("other", ["canary", 1]), raw("duration", [1]), raw("text", ["canary\ud800"])]:
            with pytest.raises(SchemaError, match="'x'") as caught:
                draft_schema(RawTable({"x": raw_column}, raw_column.missing.size, Origin("pandas", {})))
            assert "canary" not in str(caught.value)


class TestAnyTable:
    @pytest.mark.thorough
    @given(
        st.one_of(
            st.tuples(
                st.just("float"), st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False))
            ),
            st.tuples(
                st.just("integer"), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=40)
            ),
            st.tuples(
                st.just("decimal"), st.lists(st.none() | st.decimals(allow_nan=False, allow_infinity=False))
            ),
            st.tuples(
                st.just("text"), st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=3))
            ),
            st.tuples(st.just("datetime"), st.lists(st.none() | st.integers(-(10**16), 10**17))),
        )
    )
    def test_a_draft_fits_its_own_table(self, column):
        draft_one(raw(*column))
