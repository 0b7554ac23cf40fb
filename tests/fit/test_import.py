"""The core of adminkit fit is imported by programs that have no command line."""

from __future__ import annotations

import subprocess
import sys


def test_no_command_line_comes_with_it() -> None:
    heavy = {"typer", "rich", "sqlite3", "pydantic"}
    code = f"import sys, adminkit.fit.ask, adminkit.fit.waiting; print(*{heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
