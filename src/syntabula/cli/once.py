"""A command that takes each option once: of two values, the last would count and the first be forgotten in silence."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand

from syntabula.cli.exits import CommandError, Exit


class OnceCommand(TyperCommand):
    """Refuses options that are repeated, but for those that may be given repeatedly and for flags."""

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of the words of the command."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            values, rest, order = parse(args=args)
            for option, times in Counter(order).items():
                if times > 1 and not (option.multiple or option.is_flag):
                    raise CommandError(f"{option.opts[0]} is given {times} times; keep one", Exit.ARGUMENTS)
            return values, rest, order

        parser.parse_args = parse_once
        return parser
