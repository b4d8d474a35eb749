"""`syntabula schema`: drafts a schema of a table, for a person to correct."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.outputs import check_outputs, output


def _show_kinds(context: typer.Context, asked: bool) -> None:
    if asked:
        from syntabula.table.schema.guide import schema_guide

        text = schema_guide()
        context.obj.result(text, {"text": text})
        raise typer.Exit


def schema(
    context: typer.Context,
    table: options.Table,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Schema file (.yaml or .json); printed by default.")
    ] = None,
    encoding: options.Encoding = None,
    force: options.Force = False,
    kinds: Annotated[
        bool,
        typer.Option(
            "--kinds",
            callback=_show_kinds,
            is_eager=True,
            help="Show what a schema file may contain, and exit.",
        ),
    ] = False,
) -> None:
    """Draft a schema of a TABLE. Its domains are read off the data; replace them with public facts."""
    del kinds
    console: Console = context.obj
    if out is not None and out.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise CommandError(f"--out {str(out)!r} must end in .yaml, .yml or .json", Exit.ARGUMENTS)
    check_outputs({"--out": out}, inputs=(table,), force=force)
    from syntabula.table.draft import draft_with_sums
    from syntabula.table.files.quoted_cells import with_quotes
    from syntabula.table.read import read
    from syntabula.table.rules.told_rules import written_as_comments
    from syntabula.table.schema.schema import Schema

    stated = None if encoding is None else Schema({}, others="find", encoding=encoding)
    raw = read(table, stated)
    drafted, notes, rules, sums = draft_with_sums(replace(raw, origin=with_quotes(raw.origin, table)))
    document = drafted.to_json()
    comments = written_as_comments(rules, sums)
    facts = {"schema": document, "rules": rules and rules.to_json(), "sums": [asdict(one) for one in sums]}
    if out is not None:
        with output(out, force=force) as temporary:
            drafted.to_yaml(temporary)
            if out.suffix.lower() != ".json":
                with temporary.open("a", encoding="utf-8") as file:
                    file.write(comments)
        console.wrote(
            f"wrote a draft with {len(drafted)} {'column' if len(drafted) == 1 else 'columns'} to {out}",
            {"out": str(out), **facts, "notes": notes},
        )
    else:
        from syntabula.table.schema.plain_yaml import write_yaml

        console.result(write_yaml(document) + comments, {"out": None, **facts, "notes": notes})
    for note in notes:
        console.note(f"note: {note}")
    console.note(
        "note: all bounds and categories were read off the table, so this draft is as sensitive as the "
        "table; replace them with public facts and mark those columns `provenance: public`. If nothing public "
        "is known of a column, remove it and write `others: find`: its domain is then found privately. "
        "`syntabula schema --kinds` shows what a schema may contain"
    )
