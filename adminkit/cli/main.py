"""Where every command begins, and the one funnel every error passes."""

from __future__ import annotations

import difflib
import errno
import os
import re
import signal
import sys
from typing import Any, Final

import typer

from adminkit import journal
from adminkit.cli import contents
from adminkit.errors import AdminkitError, cause
from adminkit.quote import clean
from adminkit.render.say import complain
from adminkit.slurm import show_config
from adminkit.sqlite import sqlite3

#: Click's UsageError. Typer carries its own copy of click since 0.20, so it is reached through typer only.
_Usage: Final[Any] = typer.BadParameter.__mro__[1]

#: What a shell makes of SIGINT, and some releases of typer of KeyboardInterrupt.
_INTERRUPTED: Final = 130
#: What may stand before the command.
_QUIET: Final = ("-q", "--quiet")
_AS_OF: Final = (
    "reports, findings, recommend, incentives show and compute, policy replay and feedback preview accept it"
)
#: What the kernel says to whoever may not have a file, or named no file.
_REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)
_REFUSED_HINT: Final = "name another file or folder, or ask who owns it; --debug shows who wanted it"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(argv: list[str] | None = None) -> int:
    """Run one command. 0 ok, 1 error, 2 usage, 3 more rejected than allowed. Bugs propagate with a traceback."""
    typed = sys.argv[1:] if argv is None else argv
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a service manager's stop is an interrupt
    show_config.forget()
    args = [word for word in typed if word != "--debug"]  # wherever it stands: it is typed after the fact
    try:
        result = _command(args)(args, prog_name="adminkit", standalone_mode=False)
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
            hint = "this trace is from before adminkit's first release: name another with --db, or move it away"
            return _complain(f"database: {error}", hint, 1)
        return _complain(f"database: {error}", "run with --debug for the details", 1)
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except OSError as error:
        if error.errno in _REFUSED and error.filename is not None and "--debug" not in typed:
            return _complain(f"couldn't open {os.fsdecode(error.filename)}: {cause(error)}", _REFUSED_HINT, 1)
        if error.errno not in _FULL:
            raise
        _drop_stdout()
        return _complain(f"couldn't write: {os.strerror(error.errno).lower()}", "free some space, then run it again", 1)
    finally:
        journal.close()


def _command(args: list[str]) -> Any:
    """`adminkit` with the command that is typed, with all where none is: help and completion name them."""
    first = next((word for word in args if word not in _QUIET), "")
    if first == "--version":
        return contents.command_of(())
    return contents.command_of((first,)) if first in contents.COMMANDS else contents.command_of()


def _interrupted() -> int:
    return _complain("interrupted", "run the same command again: what was committed is intact", _INTERRUPTED)


def _drop_stdout() -> None:
    """What is still buffered goes nowhere, so that the end of the program does not complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, hint: str, code: int) -> int:
    """One line each, whatever the words are made of."""
    complain(f"error: {clean(' '.join(message.split()))}")
    if hint:
        complain(f"hint: {clean(' '.join(hint.split()))}")
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
    if wrong == "--as-of" and not error.ctx:
        return message, "name a time: --as-of 2026-01-31, --as-of 7d"
    if wrong == "--as-of":
        return f"{error.ctx.command_path} does not accept --as-of: only commands that show data do", _AS_OF
    near = difflib.get_close_matches(wrong, words, n=1)
    if near:
        return message, f"did you mean {near[0]}?"
    return message, f"`{error.ctx.command_path if error.ctx else 'adminkit'} --help` lists its options"


if __name__ == "__main__":
    sys.exit(main())
