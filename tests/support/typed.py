"""A command typed in this process, which takes a tenth of what starting Python for it takes."""

from __future__ import annotations

import io
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pytest

from adminkit.cli.main import main

#: The environment of what the pages show.
OF_PAGES: Final = {"COLUMNS": "120", "TZ": "UTC"}


class _Utf8(io.StringIO):
    """A text that takes every character, as a file of a process in a UTF-8 locale does: without an encoding adminkit
    draws with ASCII.
    """

    encoding = "utf-8"


def typed(*words: str | Path, text: type[io.StringIO] = io.StringIO) -> subprocess.CompletedProcess[str]:
    """The exit code and what was printed. For a command that reads no standard input; programs' own output is lost."""
    command = [str(word) for word in words]
    with redirect_stdout(text()) as out, redirect_stderr(text()) as err:
        try:
            code = main(command)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def typed_for_a_page(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """What a command prints in that folder, as the pages show it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in OF_PAGES.items():
            patch.setenv(name, value)
        time.tzset()
        done = typed(*words, text=_Utf8)
    time.tzset()
    assert done.returncode == code, done.stderr
    return done
