"""Dispatches to the commands, each imported on demand, and turns failures into exit codes."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from syntabula.cli.console import (
    EXIT_HELP,
    CommandError,
    Console,
    Exit,
    Interrupts,
    report_end,
    report_failure,
)

_ANYWHERE = ("--quiet", "--json", "--debug")
_EPILOG = "Every command also takes --quiet, --json and --debug. Exit codes: see `syntabula --help`."

_COMMANDS = (
    "synth", "plan", "sample", "evaluate", "report", "info", "methods", "metrics", "schema", "attack",
    "tune", "bench", "demo",
)  # fmt: skip
"""In the order of the help; each names a module of `commands` and the function in it, or the group of commands."""


class OnceCommand(TyperCommand):
    """A command that refuses a repeated option, of which the parser would silently keep only the last value.

    Flags, and options declared as repeatable, may be given any number of times.
    """

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of the command's arguments."""
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


def _show_version(wanted: bool) -> None:
    if wanted:
        from syntabula import __version__

        print(f"syntabula {__version__}")
        raise typer.Exit


def _common(
    context: typer.Context,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no notes; warnings stay.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error arose; this may print values of the table.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del debug, version
    context.obj = Console(quiet=quiet, as_json=as_json)


def _application(words: Sequence[str]) -> typer.Typer:
    """Return the application with the requested command, or with all of them for the help or an unknown command."""
    app = typer.Typer(
        name="syntabula",
        help="Make synthetic tables under differential privacy, or without it.",
        epilog=EXIT_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_common)
    first = next((word for word in words if word not in _ANYWHERE), None)
    for name in (first,) if first in _COMMANDS else _COMMANDS:
        command = getattr(import_module(f"syntabula.cli.commands.{name}"), name)
        if isinstance(command, dict):
            app.add_typer(_group(name, command), name=name)
        else:
            app.command(cls=OnceCommand, epilog=_EPILOG)(command)
    return app


def _group(name: str, commands: dict[str, Any]) -> typer.Typer:
    """Return the commands of a group, such as `syntabula bench list`."""
    group = typer.Typer(
        help=import_module(f"syntabula.cli.commands.{name}").HELP,
        epilog=_EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )
    for word, command in commands.items():
        group.command(word, cls=OnceCommand, epilog=_EPILOG)(command)
    return group


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; never shows a traceback unless --debug was given."""
    words = _flags_first(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    with Interrupts() as interrupts:
        try:
            with Console(quiet="--quiet" in words).warnings():
                code = _application(words)(words, prog_name="syntabula", standalone_mode=False)
                sys.stdout.flush()
        except BaseException as error:
            # Also KeyboardInterrupt and SystemExit: this is the outermost frame.
            if "--debug" in words:
                traceback.print_exc()
            return report_end(interrupts.seen) if interrupts.seen else report_failure(error)
    if code == Exit.INTERRUPTED:
        # Newer versions of Typer turn an interrupt into this code without a word.
        return report_end(interrupts.seen or Exit.INTERRUPTED)
    return code if isinstance(code, int) else 0


def _flags_first(words: Sequence[str]) -> list[str]:
    """Move the flags that every command has to the front, so that they may be written anywhere."""
    end = list(words).index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if word in _ANYWHERE]
    return [*flags, *(word for word in words[:end] if word not in _ANYWHERE), *words[end:]]
