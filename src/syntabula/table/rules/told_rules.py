"""What a draft says of rules that were read off a table."""

from __future__ import annotations

from collections.abc import Sequence

from syntabula.table.rules.near_sums import NearSum
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.plain_yaml import write_yaml


def note_of_rules(rules: Rules) -> str:
    """Return a note that names rules without the values in them."""
    told = [
        *(f"{name!r} follows from others" for name in rules.derive),
        *(f"{' <= '.join(map(repr, chain))}" for chain in rules.order),
        *([f"{len(rules.require)} on values of two columns each"] if rules.require else []),
        *(f"{', '.join(map(repr, names))} are missing together" for names in rules.together),
    ]
    return (
        f"every row satisfies rules ({'; '.join(told)}); if they are facts that are known without the table, state them "
        "as `rules`, and synthetic rows will satisfy them too"
    )


def note_of_sums(sums: Sequence[NearSum]) -> str:
    """Return a note that names columns that are sums but for rounding, or in nearly every row."""
    names = ", ".join(repr(one.name) for one in sums)
    have = "is a sum or difference" if len(sums) == 1 else "are sums or differences"
    return (
        f"{names} {have} of other columns, but for rounding or in nearly every row; no synthetic row will hold to that "
        "unless it is stated under `derive` of the rules, and then all will. The comments of a draft in YAML, or `sums` "
        "of --json, say how, and in how many rows of the table it does not hold"
    )


def written_as_comments(rules: Rules | None, sums: Sequence[NearSum] = ()) -> str:
    """Return rules, and sums that some rows break, as lines of a YAML schema, each a comment."""
    lines: list[str] = []
    if sums:
        lines += [
            "These sums were read off this table, in which they hold but for rounding, or in nearly every row. If one",
            "is a fact, write it under `derive` of the rules: it then holds in all synthetic rows.",
        ]
        for one in sums:
            lines += [f"  - {_deviation(one)}:"]
            lines += [f"      {line}" for line in write_yaml({one.name: one.expression}).splitlines()]
    if rules is not None:
        lines += [
            "Every row of this table satisfies these rules. Keep those that are facts, known without the table: remove",
            "the signs # before them, and the entry `provenance`.",
        ]
        lines += write_yaml({"rules": rules.to_json()}).splitlines()
    return "".join(f"# {line}\n" for line in lines)


def _deviation(one: NearSum) -> str:
    within = f"within {one.within:.3g}" if one.within else "exactly"
    if not one.n_off:
        return f"{within}, in all {one.n_rows:,} rows"
    share = f"{100 * one.n_off / one.n_rows:.2g} %"
    return f"{within}, but not in {one.n_off:,} of {one.n_rows:,} rows ({share})"
