"""Packs a folder into one file system image, for programs that need files: by the user's own mksquashfs or mkfs.erofs.

The image is not compressed. Whoever uses it mounts it with FUSE or a container; root mounts nobody's image.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.data.order import refuse_others
from adminkit.errors import AdminkitError, cause

#: An erofs image has a number of its own; the same files give the same one.
_UUID: Final = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of image: the program that makes it, where it comes from, and how to mount the image."""

    program: str
    package: str
    mount: str


KINDS: Final = {
    "squashfs": Kind("mksquashfs", "squashfs-tools", "squashfuse {image} FOLDER; fusermount3 -u FOLDER"),
    "erofs": Kind("mkfs.erofs", "erofs-utils", "erofsfuse {image} FOLDER; fusermount3 -u FOLDER"),
}


def pack_image(source: Path, image: Path, kind: str) -> int:
    """Make the new file `image` of all that is below `source`. Returns its size in bytes.

    AdminkitError where there is something at `image`, where it is inside of `source`, or where the program fails; then
    nothing is there.
    """
    program = _refuse(source, image, kind)
    aside = image.with_name(f".{image.name}.{secrets.token_hex(4)}.part")
    try:
        _run(_words(program, kind, source.absolute(), aside.absolute()))
        handle = os.open(aside, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        size = aside.stat().st_size
        aside.rename(image)
    except OSError as error:
        raise AdminkitError(f"couldn't write {image}: {cause(error)}", "choose another path") from error
    finally:
        with suppress(OSError):
            aside.unlink()
    return size


def _refuse(source: Path, image: Path, kind: str) -> str:
    """The path of the program."""
    refuse_others(source / "*")
    refuse_others(image)
    if not source.is_dir():
        raise AdminkitError(f"{source} is not a folder", "name the folder that has the files")
    if next(os.scandir(source), None) is None:
        raise AdminkitError(f"{source} has no files", "name the folder that has the files")
    if os.path.lexists(image):
        raise AdminkitError(f"{image} already exists", "choose another path, or move it away")
    if Path(os.path.realpath(source)) in Path(os.path.realpath(image)).parents:
        raise AdminkitError(f"{image} is inside {source}, which is packed", "choose a path outside of it")
    its = KINDS[kind]
    program = shutil.which(its.program)
    if program is None:
        raise AdminkitError(
            f"{its.program} is not on PATH", f"ask for {its.package}, or pack shards: leave --image out"
        )
    return program


def _words(program: str, kind: str, source: Path, image: Path) -> list[str]:
    """Without what differs between copies of the same files: owner and times."""
    if kind == "squashfs":
        plain = ["-noI", "-noD", "-noF", "-noX", "-no-xattrs", "-all-root", "-mkfs-time", "0", "-all-time", "0"]
        return [program, str(source), str(image), *plain, "-no-progress", "-quiet"]
    return [program, "-T0", f"-U{_UUID}", "--all-root", "-x-1", "--quiet", str(image), str(source)]


def _run(words: Sequence[str]) -> None:
    """AdminkitError with the last line that the program said, where it fails."""
    environ = {**os.environ, "LC_ALL": "C"}
    environ.pop("SOURCE_DATE_EPOCH", None)  # mksquashfs refuses it beside -mkfs-time
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=environ, check=False)
    if done.returncode:
        said = [line for line in (done.stderr + b"\n" + done.stdout).decode("utf-8", "replace").splitlines() if line]
        why = said[-1] if said else f"exit code {done.returncode}"
        raise AdminkitError(
            f"{Path(words[0]).name} failed: {why}", "free some space or correct what it names, then run it again"
        )
