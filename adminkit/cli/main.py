"""The table of contents of the command line, and the one funnel every error passes."""

from __future__ import annotations

import difflib
import errno
import os
import re
import signal
import sqlite3
import sys
from typing import Annotated, Any, Final

import typer

import adminkit
from adminkit import journal
from adminkit.cli import (
    audit,
    demo,
    doctor,
    feedback,
    feedback_prefs,
    findings,
    import_,
    incentives,
    policy,
    policy_install,
    policy_refresh,
    recommend,
    report,
    site,
    sync,
    trace,
)
from adminkit.errors import AdminkitError
from adminkit.quote import clean
from adminkit.slurm import show_config
from adminkit.trace.schema import SCHEMA_VERSION

#: Click's UsageError. Typer carries its own copy of click from 0.20 on, so it is reached through typer alone.
_Usage: Final[Any] = typer.BadParameter.__mro__[1]

#: What a shell makes of SIGINT, and some releases of typer of KeyboardInterrupt.
_INTERRUPTED: Final = 130
_AS_OF: Final = "reports, findings, recommend, incentives show and compute, policy replay and feedback preview take it"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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
trace.app.command("audit")(audit.audit)
trace.app.command("restore")(audit.restore)
app.add_typer(incentives.app, name="incentives")
app.add_typer(policy.app, name="policy")
policy.app.command("install")(policy_install.install)
policy.app.command("rollback")(policy_install.rollback)
policy.app.command("refresh")(policy_refresh.refresh)
policy.app.command("status")(policy_install.status)
app.add_typer(recommend.app, name="recommend")
app.add_typer(feedback.app, name="feedback")
feedback.app.command("prefs")(feedback_prefs.prefs)
app.command("findings")(findings.findings)
app.command("sync")(sync.sync)
app.command("import")(import_.import_)
app.command("site")(site.site)
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
    typed = sys.argv[1:] if argv is None else argv
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a service manager's stop is an interrupt
    show_config.forget()
    args = [word for word in typed if word != "--debug"]  # wherever it stands: it is typed after the fact
    try:
        result = app(args, prog_name="adminkit", standalone_mode=False)
        sys.stdout.flush()
        return _interrupted() if result == _INTERRUPTED else result if isinstance(result, int) else 0
    except SystemExit as error:  # typer's way with a reader that went away
        if isinstance(error.__context__, BrokenPipeError):
            return 0
        raise
    except _Usage as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.ctx.get_help())
            return 2
        return _complain(*_usage(error), 2)
    except typer.Abort:
        return _interrupted()
    except (AdminkitError, sqlite3.Error) as error:
        if "--debug" in typed:
            raise
        if isinstance(error, AdminkitError):
            return _complain(error.message, error.hint, error.exit_code)
        if str(error).startswith(("no such table", "no such column")):
            # Until the first release the schema changes under one number.
            hint = "this trace is from before adminkit's first release: remove it, or name another with --db"
            return _complain(f"database: {error}", hint, 1)
        return _complain(f"database: {error}", "run with --debug for the details", 1)
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _drop_stdout()
        return _complain(f"couldn't write: {os.strerror(error.errno).lower()}", "free some space, then run it again", 1)
    finally:
        journal.close()


def _interrupted() -> int:
    return _complain("interrupted", "run the same command again: what was committed is whole", _INTERRUPTED)


def _drop_stdout() -> None:
    """What is still buffered goes nowhere, so that the end of the program does not complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, hint: str, code: int) -> int:
    """One line each, whatever the words are made of."""
    print(f"error: {clean(' '.join(message.split()))}", file=sys.stderr)
    if hint:
        print(f"hint: {clean(' '.join(hint.split()))}", file=sys.stderr)
    return code


def _usage(error: Any) -> tuple[str, str]:
    """What was typed wrong, and the nearest word that would have been right, else where to read on."""
    message = error.format_message().replace("Value error, ", "")
    words: list[str] = []
    wrong = getattr(error, "option_name", "")
    if wrong and error.ctx:
        message = message.partition(" (Possible")[0].partition(" Did you mean")[0]
        words = [opt for param in error.ctx.command.params for opt in param.opts]
    elif (command := re.match(r"No such command '(.*?)'\.", message, re.DOTALL)) and error.ctx:
        wrong, words = command.group(1), list(error.ctx.command.commands)
        message = f"No such command: {wrong}"
    elif " is not one of " in message:  # the message is all that every release of typer has in common
        before, _, choices = message.partition(" is not one of ")
        wrong, words = before.rstrip("'").rpartition("'")[2], choices.split("'")[1::2]
    if wrong == "--as-of":
        return f"{error.ctx.command_path} takes no --as-of: only commands that show something do", _AS_OF
    near = difflib.get_close_matches(wrong, words, n=1)
    if near:
        return message, f"did you mean {near[0]}?"
    return message, f"`{error.ctx.command_path if error.ctx else 'adminkit'} --help` lists its options"


if __name__ == "__main__":
    sys.exit(main())
