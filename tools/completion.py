"""Completion: `python -m tools.completion [DIR]` writes adminkit (for bash), _adminkit (zsh) and adminkit.fish.

The scripts are typer's own, for `adminkit` on PATH. DIR is build/completion unless it is named.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from typer.completion import get_completion_script

from tools.docs import into_build

#: What each shell looks for in its folder of completions.
FILES: Final = {"bash": "adminkit", "zsh": "_adminkit", "fish": "adminkit.fish"}


def script(shell: str) -> str:
    text = get_completion_script(prog_name="adminkit", complete_var="_ADMINKIT_COMPLETE", shell=shell) + "\n"
    if shell == "zsh":  # Trap: zsh runs the file as the function itself the first time, and typer's only defines it.
        text += '\n[[ ${funcstack[1]} != _adminkit ]] || _adminkit_completion "$@"\n'
    return text


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for shell, name in FILES.items():
        (folder / name).write_text(script(shell))


if __name__ == "__main__":
    sys.exit(into_build("completion", write))
