"""The table of commands and the one place where failures become exit codes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from syntabula.cli.commands.attack import attack
from syntabula.cli.commands.demo import demo
from syntabula.cli.commands.evaluate import evaluate
from syntabula.cli.commands.info import info
from syntabula.cli.commands.methods import methods
from syntabula.cli.commands.metrics import metrics
from syntabula.cli.commands.plan import plan
from syntabula.cli.commands.report import report
from syntabula.cli.commands.sample import sample
from syntabula.cli.commands.schema import schema
from syntabula.cli.commands.synth import synth
from syntabula.cli.console import Console
from syntabula.cli.exits import EXIT_HELP, Exit, Interrupts, report_end, report_failure
from syntabula.cli.once import OnceCommand

_ANYWHERE = ("--quiet", "--json", "--debug")
_EPILOG = "Anywhere: --quiet, --json, --debug. Exit codes: see `syntabula --help`."

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
for command in (synth, plan, sample, evaluate, report, info, methods, metrics, schema, attack, demo):
    app.command(cls=OnceCommand, epilog=_EPILOG)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from syntabula import __version__

        print(f"syntabula {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")] = False,
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


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; never shows a traceback unless --debug was given."""
    words = _flags_first(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    with Interrupts() as interrupts:
        try:
            with Console(quiet="--quiet" in words).warnings():
                code = app(words, prog_name="syntabula", standalone_mode=False)
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
    """Move the flags that hold for every command to the front, so that they may be written anywhere."""
    end = list(words).index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if word in _ANYWHERE]
    return [*flags, *(word for word in words[:end] if word not in _ANYWHERE), *words[end:]]
