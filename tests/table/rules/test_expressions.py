"""Expressions see one row's values: a stranger's schema reads no file, runs no code, and fills no memory."""

from __future__ import annotations

import pytest

from syntabula.errors import SchemaError
from syntabula.table.rules.expressions import (
    FUNCTIONS,
    MOST_CHARACTERS,
    MOST_LEVELS,
    read_expression,
)

NAMES = ("a", "A", "b", "day", "s", "capital-gain", "x.y")

ATTACKS = [
    # files, settings, the machine
    "read_csv('/etc/passwd')",
    "read_text('/etc/passwd') = s",
    "getenv('HOME') = s",
    "current_setting('home_directory') = s",
    "query('SELECT 1')",
    "query_table('x')",
    # other rows, other tables, other statements
    "(SELECT 1) = a",
    "(SELECT content FROM read_text('/etc/passwd')) = s",
    "EXISTS (SELECT 1)",
    "a = ANY (SELECT 1)",
    "a IN (SELECT 1)",
    "a IN (FROM range(10))",
    "sum(a) > 1",
    "count(*) > 1",
    "max(a) OVER () > a",
    "sum(a) FILTER (b > 1) > 1",
    "row_number() OVER () > 1",
    "lag(a) OVER () > 1",
    "t.a > 1",
    "cells.v0 > 1",
    "information_schema.tables = s",
    "rowid > 1",
    "1; DROP TABLE cells",
    "1); COPY cells TO '/tmp/x'; SELECT (1",
    "COPY cells TO '/tmp/x'",
    "ATTACH '/tmp/x'",
    "INSTALL httpfs",
    "1) FROM read_csv('/etc/passwd') --",
    "1) UNION SELECT (2",
    "1), (2",
    "1) LIMIT (1",
    "1) WHERE (true",
    "(WITH x AS (SELECT 1) SELECT * FROM x) = 1",
    "UNNEST([1, 2]) = a",
    "generate_series(1, 1000000000) = a",
    "range(1000000000) = a",
    # stars, lists, structs, lambdas, parameters
    "*",
    "COLUMNS('.*') > 1",
    "COLUMNS(*) > 1",
    "[1, 2][1] = a",
    "{'a': 1}.a = a",
    "list_transform([1], x -> x + 1) = [2]",
    "list_reduce([1, 2], (x, y) -> x + y) = a",
    "a = $1",
    "a = ?",
    "#1 > 1",
    "[x FOR x IN [1, 2]] = a",
    "MAP {'a': 1}['a'] = a",
    "(a, b) = (1, 2)",
    # types and collations
    "a::myenum = 'x'",
    "a::STRUCT(x INTEGER) = a",
    "a::INTEGER[] = a",
    "s::JSON = s",
    "s::BLOB = s",
    "'cells'::REGCLASS = a",
    "s COLLATE NOCASE = 'x'",
    # the clock and chance
    "now() > day",
    "current_date > day",
    "current_timestamp > day",
    "age(day) > INTERVAL 3 DAY",
    "random() > a",
    "uuid() = s",
    "nextval('x') = a",
    # memory
    "repeat('x', 1000000000) = s",
    "lpad(s, 1000000000, 'x') = s",
    "printf('%1000000000d', a) = s",
    "replace(s, 'a', 'aaaaaaaaaaaaaaaaaaaa') = s",
    "regexp_replace(s, 'a', 'aaaaaaaaaaaaaaaaaaaa', 'g') = s",
    "array_to_string([s, s], s) = s",
    # names that hide what they are
    "main.abs(a) > 1",
    "system.main.abs(a) > 1",
    '"read_csv"(s) = s',
    "s.read_text() = s",
    "READ_CSV('x')",
    "abs(x := a) > 1",
    "a AS b",
    "s\x00 = s",
    "\ud800 = s",
    "a >",
    "",
    " -- nothing",
    "/* nothing */",
    "DEFAULT",
    "try(a / 0) > 1",
    "GROUPING(a) > 0",
    "error('x') = s",
]


def test_what_is_more_than_a_rows_own_values_is_refused():
    for text in ATTACKS:
        with pytest.raises(SchemaError):
            read_expression(text, NAMES)


def test_a_function_that_is_refused_for_a_reason_is_not_taken_for_a_slip():
    with pytest.raises(SchemaError) as refused:
        read_expression("now() > day", NAMES)

    assert str(refused.value).endswith("'now', which a rule cannot: the clock differs from run to run")


def test_very_long_and_very_deep_ones_are_refused_quickly():
    for text in [
        "(" * 200 + "a" + ")" * 100_000,
        "(" * 100_000 + "a" + ")" * 100_000,
        " + ".join(["a"] * 3000),
        "NOT " * 3000 + "TRUE",
        "-" * 5000 + "a",
        " AND ".join(["a > 1"] * 3000),
        "CASE WHEN a > 1 THEN " * 300 + "1" + " END" * 300,
        "'" + "x" * MOST_CHARACTERS + "' = s",
        "a = " + "1" * MOST_CHARACTERS,
        "a IN (" + ", ".join(["1"] * 6000) + ")",
        "abs(" * 500 + "a" + ")" * 500,
    ]:
        with pytest.raises(SchemaError):
            read_expression(text, NAMES)


def test_nothing_that_grows_without_bound_or_differs_from_run_to_run_is_listed():
    undue = {
        "repeat", "lpad", "rpad", "printf", "format", "replace", "regexp_replace", "range", "generate_series", "random",
        "uuid", "now", "today", "getenv", "current_setting", "read_csv", "read_text", "query", "error", "list_value",
        "struct_pack", "row", "sum", "count", "min", "max", "strftime", "strptime", "translate", "bar", "string_agg",
        "read_blob", "getvariable", "pg_read_file", "version", "current_database", "parse_filename", "setseed",
        "txid_current", "string_split", "regexp_extract_all", "factorial", "write_log", "pg_sleep", "sleep_ms",
    }  # fmt: skip

    assert not undue & FUNCTIONS


def test_every_listed_function_is_a_plain_scalar_of_duckdb():
    import duckdb

    rows = duckdb.sql(
        "SELECT lower(function_name), function_type, stability FROM duckdb_functions() "
        "WHERE function_type NOT IN ('pragma', 'table', 'table_macro')"
    ).fetchall()
    kinds: dict[str, set[tuple[str, str]]] = {}
    for name, kind, stability in rows:
        kinds.setdefault(name, set()).add((kind, stability))
    # The parser makes these of their own syntax, and ~~~ is GLOB.
    syntax = {"nullif", "ifnull", "if", "position", "date_add"}

    for name in FUNCTIONS - syntax:
        found = kinds.get(name, set())
        assert {kind for kind, _ in found} <= {"scalar", "macro"}, name
        assert not {"VOLATILE"} & {stability for _, stability in found}, name


class TestWhatPasses:
    def test_arithmetic_comparisons_choices_texts_and_dates(self):
        for text, columns in [
            ("A", ("A",)),
            ("\"capital-gain\" > 0 AND NOT (s = 'x')", ("capital-gain", "s")),
            ('"x.y" IS NOT NULL', ("x.y",)),
            ("CASE s WHEN 'u' THEN 1 WHEN 'v' THEN 2 ELSE 0 END", ("s",)),
            ("a BETWEEN 1 AND b OR s IN ('x', 'y') OR s LIKE 'z%'", ("a", "b", "s")),
            ("dayofweek(day) IN (0, 6)", ("day",)),
            ("extract(year FROM day) = 2020", ("day",)),
            ("date_diff('day', day, DATE '2020-01-01')", ("day",)),
            ("coalesce(a, 0) + nullif(b, 1)", ("a", "b")),
            ("try_cast(s AS INTEGER) = a", ("s", "a")),
            ("a > 1 -- a comment", ("a",)),
            ("round(a / 3, 2)::DECIMAL(9, 2)", ("a",)),
            ("TRUE", ()),
        ]:
            found = read_expression(text, NAMES)

            assert sorted(found.columns) == sorted(columns)
            assert found.text == text

    def test_what_runs_is_written_anew_with_other_names(self):
        assert read_expression("a > 1 /* ; DROP */ -- x", NAMES).sql == "(c0 > 1)"
        assert read_expression("A > a", NAMES).sql == "(c1 > c0)"

    def test_names_are_as_the_schema_writes_them(self):
        with pytest.raises(SchemaError, match=r"there is no column 'S'; did you mean 's'\?"):
            read_expression("S = 'x'", NAMES)
        with pytest.raises(SchemaError, match='put it in double quotes: "capital-gain"'):
            read_expression("capital-gain > 0", NAMES)
        with pytest.raises(SchemaError, match="put the name in double quotes"):
            read_expression("x.y > 0", NAMES)

    def test_levels_pass_up_to_the_limit_alone(self):
        # Each NOT is a level above the constant, whose own is the last that passes.
        read_expression("NOT " * MOST_LEVELS + "TRUE", NAMES)

        with pytest.raises(SchemaError, match="nested too deep"):
            read_expression("NOT " * (MOST_LEVELS + 1) + "TRUE", NAMES)


def test_names_that_are_words_of_sql_are_told_apart_from_errors() -> None:
    names = ("begin", "end", "group", "a")
    for text, quoted in [
        ("begin <= end", '"end"'),
        ("group = 'end' and a > end", '"end", "group"'),
        ("CASE WHEN a > 1 THEN end ELSE begin END", '"end"'),
    ]:
        with pytest.raises(SchemaError, match=f"words of SQL need double quotes; write {quoted}$"):
            read_expression(text, names)
    for text in ["begin <= ", "end <= = a"]:
        with pytest.raises(SchemaError, match="check its spelling"):
            read_expression(text, names)
