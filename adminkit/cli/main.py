"""The table of contents of the command line, and the one funnel every error passes."""

from __future__ import annotations

import difflib
import os
import sqlite3
import sys
from typing import Annotated, Any, Final

import typer

import adminkit
from adminkit.cli import demo, doctor, import_, report, sync, trace
from adminkit.errors import AdminkitError
from adminkit.trace.schema import SCHEMA_VERSION

#: Click's UsageError. Typer carries its own copy of click from 0.20 on, so it is reached through typer alone.
_Usage: Final[Any] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="adminkit",
    help="The Slurm operator's kit for honest time limits.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(report.app, name="report")
app.add_typer(trace.app, name="trace")
app.command("sync")(sync.sync)
app.command("import")(import_.import_)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"adminkit {adminkit.__version__} (trace schema {SCHEMA_VERSION})")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the release and the schema version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the Python traceback of an error.")] = False,
) -> None:
    """The Slurm operator's kit for honest time limits."""


def main(argv: list[str] | None = None) -> int:
    """Run one command. 0 ok, 1 error, 2 usage, 3 more rejected than allowed. Bugs propagate with a traceback."""
    args = sys.argv[1:] if argv is None else argv
    try:
        result = app(args, prog_name="adminkit", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except _Usage as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.ctx.get_help())
            return 2
        return _complain(error.format_message().replace("Value error, ", ""), _usage_hint(error), 2)
    except typer.Abort:
        return _complain("interrupted", "run the same command again: what was committed is whole", 130)
    except (AdminkitError, sqlite3.Error) as error:
        if "--debug" in args:
            raise
        if isinstance(error, AdminkitError):
            return _complain(error.message, error.hint, error.exit_code)
        return _complain(f"database: {error}", "run with --debug for the details", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _complain(message: str, hint: str, code: int) -> int:
    print(f"error: {message.strip()}", file=sys.stderr)
    if hint:
        print(f"hint: {hint.strip()}", file=sys.stderr)
    return code


def _usage_hint(error: Any) -> str:
    """The nearest word that would have been right, else where to read on."""
    if "Did you mean" in error.format_message():
        return f"`{error.ctx.command_path} --help` shows what it takes" if error.ctx else ""
    words: list[str] = []
    typed = getattr(error, "option_name", "")
    wrong, is_choice, choices = error.format_message().partition(" is not one of ")
    if typed and error.ctx:
        words = [opt for param in error.ctx.command.params for opt in param.opts]
    elif is_choice:  # the message is all that every release of typer has in common
        words = choices.split("'")[1::2]
        typed = wrong.rstrip("'").rpartition("'")[2]
    near = difflib.get_close_matches(typed, words, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"`{error.ctx.command_path if error.ctx else 'adminkit'} --help` shows what it takes"


if __name__ == "__main__":
    sys.exit(main())
