"""The Lua that comes with adminkit: what there is, whether it is in place, and whose job_submit.lua it meets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from adminkit.deploy.files import FILE_MODE, SUBFOLDER, TABLES, changing, put_file, rights_hold, table_path
from adminkit.errors import AdminkitError, cause
from adminkit.files import NotPlain, read_plain
from adminkit.installed import data_file
from adminkit.lua.literal import MOST_BYTES
from adminkit.slurm.reload import touch

ENTRY: Final = "job_submit.lua"
ENTRY_FOLDER: Final = "job_submit"  # among the data files of adminkit

#: What stands at the place of job_submit.lua.
Entry = Literal["absent", "ours", "calls us", "foreign"]

#: What a site adds at the end of a job_submit.lua of its own, before `return slurm.SUCCESS`.
LINES: Final = (
    'local ok, adminkit = pcall(dofile, "{folder}/adminkit/start.lua")',
    "if ok then slurm_job_submit, slurm_job_modify = adminkit.around(slurm_job_submit, slurm_job_modify) end",
)
_CALL: Final = re.compile(r"adminkit/start\.lua[\s\S]*\.around\(")


def shipped() -> dict[str, bytes]:
    """Every file of the program by its place below the folder, job_submit.lua last."""
    top = data_file(ENTRY_FOLDER, ENTRY).parent
    modules = sorted((top / SUBFOLDER).glob("*.lua"))
    return {str(path.relative_to(top)): path.read_bytes() for path in (*modules, top / ENTRY)}


def entry_state(folder: Path, ours: bytes) -> Entry:
    """Whose job_submit.lua is in `folder`: ours of any release by its first line, or the site's own."""
    try:
        text = read_plain(folder / ENTRY, MOST_BYTES, links=True)
    except FileNotFoundError:
        return "absent"
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't read {folder / ENTRY}: {why}", "run it as root on the slurmctld host") from error
    if text.partition(b"\n")[0] == ours.partition(b"\n")[0]:
        return "ours"
    code = re.sub(r"^\s*--.*$", "", text.decode("utf-8", "replace"), flags=re.MULTILINE)
    return "calls us" if _CALL.search(code) else "foreign"


def entry_lines(folder: Path) -> tuple[str, ...]:
    """The lines for a job_submit.lua of the site's own."""
    return tuple(line.format(folder=folder) for line in LINES)


def put_program(folder: Path, files: Mapping[str, bytes], group: int | None = None) -> list[str]:
    """Put the program in place, the entry last and only where it is ours or absent. The files that changed."""
    changed = []
    with changing(folder, group):
        for name, text in files.items():
            path = folder / name
            if path == table_path(folder, path.stem) and path.stem in TABLES:
                raise AdminkitError(f"{name} of this installation is in the way of a table", "install adminkit again")
            if name == ENTRY and entry_state(folder, text) in ("calls us", "foreign"):
                continue
            if not _holds(path, text) or not rights_hold(path, group):
                before = int(path.stat().st_mtime) if name == ENTRY and path.exists() else 0
                put_file(path, text, group, FILE_MODE)
                changed.append(name)
                if before:
                    touch(path, before)
    return changed


def _holds(path: Path, text: bytes) -> bool:
    try:
        return read_plain(path, MOST_BYTES, links=path.name == ENTRY) == text
    except (OSError, NotPlain):
        return False
