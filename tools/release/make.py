"""Build what a release consists of, twice in two folders from the last commit, and compare the bytes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import adminkit
from tools.release import number, parts, sums

#: Two names of different lengths: a path that gets into a file moves what is after it.
FOLDERS: Final = ("one", "another")


@dataclass(frozen=True, slots=True)
class Kind:
    """What `command` builds, given a source: files by `pattern`. `needs`: the programs without which it cannot."""

    name: str
    command: tuple[str, ...]
    pattern: str
    needs: tuple[str, ...] = ()
    target: str = ""  # of the Makefile, which may lack it
    macro: str = ""  # which rpm has where packages for it can be built


_BACKEND: Final = "import sys, scikit_build_core.build as b; b.build_sdist('dist'); b.build_wheel('dist')"
# Trap: the environment of this checkout builds them, so its stamp is not made in the copy.
_MAKE: Final = ("make", "-s", "-o", ".venv/.built", f"BIN={Path(sys.executable).parent}")
KINDS: Final = (
    Kind("sdist and wheel", (sys.executable, "-c", _BACKEND), "dist/*"),
    Kind("deb", (*_MAKE, "deb"), "build/deb/*.deb", ("dh",), "deb"),
    Kind("rpm", (*_MAKE, "rpm"), "build/rpm/RPMS/*/*.rpm", ("rpmbuild",), "rpm", "%{_unitdir}"),
    Kind("archive", (*_MAKE, "archive"), "build/adminkit-*.tar.gz", ("mmdebstrap", "npm"), "archive"),
)


def folder(root: Path) -> Path:
    """Where a release's files are."""
    return root / "build/release" / f"adminkit-{adminkit.__version__}"


def archive(made: Path) -> Path | None:
    """The archive of a release; None where none was built."""
    return next(made.glob("adminkit-*-x86_64.tar.gz"), None)


def release(root: Path) -> int:
    """Build all that can be built here. 0 when both passes gave the same bytes."""
    work, to = root / "build/release", folder(root)
    shutil.rmtree(work, ignore_errors=True)
    to.mkdir(parents=True)
    # Once: somebody may commit while it builds.
    source = subprocess.run(["git", "archive", "HEAD"], cwd=root, check=True, stdout=subprocess.PIPE).stdout
    passes = [_pass(source, work / name) for name in FOLDERS]
    for path in passes[0].iterdir():
        shutil.copy2(path, to / path.name)
    parts.write(root, to / parts.name(), archive(to))
    sums.write(to)
    found = different(*passes)
    for name in found:
        print(f"error: {name} is not the same in both passes", file=sys.stderr)
        _explain(*(one / name for one in passes))
    print(f"{to}: {len(list(to.iterdir()))} files")
    return int(bool(found))


def _pass(archive: bytes, folder: Path) -> Path:
    """One pass: the archive is unpacked and built; the folder of what was made. Logs are beside the source."""
    source, made = folder / "source", folder / "made"
    source.mkdir(parents=True)
    made.mkdir()
    subprocess.run(["tar", "-x"], cwd=source, input=archive, check=True)
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(number.epoch(source)), "PYTHONPATH": str(source)}
    for kind in KINDS:
        if why := obstacle(kind, (source / "Makefile").read_text()):
            print(f"not built: {kind.name}: {why}", file=sys.stderr)
            continue
        print(f"{folder.name}: {kind.name}", file=sys.stderr, flush=True)
        with (folder / f"{kind.name}.log".replace(" ", "-")).open("wb") as log:
            done = subprocess.run(kind.command, cwd=source, env=env, stdout=log, stderr=log, check=False)
        if done.returncode:
            raise SystemExit(f"error: {kind.name} could not be built: exit {done.returncode}\nhint: read {log.name}")
        for path in source.glob(kind.pattern):
            shutil.copy2(path, made / path.name)
    return made


def obstacle(kind: Kind, makefile: str) -> str:
    """Why it cannot be built here; "" when it can."""
    if kind.target and f"\n{kind.target}:" not in makefile:
        return f"the Makefile has no {kind.target}"
    if missing := [program for program in kind.needs if shutil.which(program) is None]:
        return f"no {', no '.join(missing)}"
    if kind.macro:
        words = ["rpmbuild", *shlex.split(os.environ.get("RPM_OPTIONS", "")), "--eval", kind.macro]
        if subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() in ("", kind.macro):
            return f"this host's rpm has no {kind.macro}"
    return ""


def different(one: Path, other: Path) -> list[str]:
    """The files that are not in both, or not the same in both."""
    first, second = sums.of(one), sums.of(other)
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def _explain(one: Path, other: Path) -> None:
    if shutil.which("diffoscope") and one.exists() and other.exists():
        subprocess.run(["diffoscope", "--max-report-size", "20000", one, other], check=False)
    else:
        print("hint: with diffoscope on PATH what differs is shown", file=sys.stderr)
