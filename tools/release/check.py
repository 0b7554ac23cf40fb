"""Everything that has to hold before a release goes out, each as a line: ok, failed with the reason, or not run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import adminkit
from adminkit.trace.schema import SCHEMA_VERSION
from tools import old_traces
from tools.release import make, number, parts, sums

#: Given the checkout and the folder of the release: what is wrong, "" when nothing.
Check = Callable[[Path, Path], str]


class NotRun(Exception):
    """Why something cannot be checked here."""


def numbers(root: Path, made: Path) -> str:
    wrong = {name: one for name, one in number.found(root).items() if one != adminkit.__version__}
    return "; ".join(f"{name} has {one or 'none'}, not {adminkit.__version__}" for name, one in wrong.items())


def changes(root: Path, made: Path) -> str:
    """The section of this release is the newest with a number, and nothing stands above it as unreleased."""
    return changelog_wrong((root / "CHANGELOG.md").read_text(), adminkit.__version__)


def changelog_wrong(text: str, release: str) -> str:
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    if sections[:2] != ["Unreleased", release]:
        return f"CHANGELOG.md begins with {', '.join(sections[:2])}, not Unreleased, {release}"
    above = text.partition("## Unreleased\n")[2].partition("\n## ")[0].strip()
    return f"CHANGELOG.md has lines under Unreleased: {above.splitlines()[0]}" if above else ""


def notes(root: Path, made: Path) -> str:
    path = root / "docs/news" / f"{adminkit.__version__}.md"
    return "" if path.exists() else f"no {path.relative_to(root)}"


def schema(root: Path, made: Path) -> str:
    if SCHEMA_VERSION not in old_traces.frozen():
        return f"schema {SCHEMA_VERSION} is not frozen: python -m tools.old_traces release"
    return "; ".join(old_traces.edited())


def tag(root: Path, made: Path) -> str:
    """The last commit has the tag, and nothing was changed since."""
    name = f"v{adminkit.__version__}"
    there = _git(root, "tag", "--points-at", "HEAD").split()
    if name not in there:
        return f"the last commit has no tag {name}"
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"there are changes that are not in {name}" if changed else ""


def checksums(root: Path, made: Path) -> str:
    _there(made)
    return "; ".join(sums.wrong(made))


def signature(root: Path, made: Path, key: Path | None = None) -> str:
    _there(made)
    if not (made / sums.SIGNATURE).exists():
        return f"no {sums.SIGNATURE}: python -m tools.release sign KEY"
    if key is None:
        raise NotRun("name the file of the public key: make release-check KEY=file")
    if not shutil.which("gpgv"):
        raise NotRun("no gpgv")
    found = sums.signer(made, key)
    return "" if found else f"{sums.SIGNATURE} is not by a key of {key}, or of other bytes"


def parts_listed(root: Path, made: Path) -> str:
    """The list of parts is that of the wheels that the packages fetch, and of the archive's Python."""
    _there(made)
    path = made / parts.name()
    if not path.exists():
        return f"no {path.name}"
    listed = parts.listed(json.loads(path.read_text()))
    differ = sorted({one[0] for one in listed ^ parts.wanted(root, make.archive(made))})
    return f"{path.name} and what was built differ in {', '.join(differ)}" if differ else ""


def complete(root: Path, made: Path) -> str:
    """At least a source, a wheel, both packages of either kind, and the archive."""
    _there(made)
    source = f"adminkit-{adminkit.__version__}.tar.gz"
    packages = "adminkit_*.deb slurm-spank-adminkit_*.deb adminkit-*.rpm slurm-spank-adminkit-*.rpm"
    wanted = [source, "adminkit-*.whl", *packages.split(), "adminkit-*-x86_64.tar.gz"]
    missing = [pattern for pattern in wanted if not list(made.glob(pattern))]
    return f"missing: {', '.join(missing)}" if missing else ""


def runs(root: Path, made: Path) -> str:
    """What is in the wheel and in the packages says its number; the matrix installs and uses them."""
    _there(made)
    wrong, ran = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path, python in _unpacked(made, Path(folder)):
            ran += 1
            done = subprocess.run(
                [python, "-I", "-m", "adminkit.cli.main", "--version"], capture_output=True, text=True, check=False
            )
            if not done.stdout.startswith(f"adminkit {adminkit.__version__} "):
                wrong.append(f"{path.name} says {(done.stdout or done.stderr).strip()[-100:]!r}")
    return "; ".join(wrong) if ran else f"there is nothing to run in {made}"


def _unpacked(made: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    for path in made.glob("*.whl"):
        venv.create(folder / "wheel", with_pip=True)
        interpreter = folder / "wheel/bin/python"
        subprocess.run([interpreter, "-m", "pip", "install", "-q", path], check=True, capture_output=True)
        yield path, interpreter
    for pattern, unpack, python in (
        ("adminkit_*.deb", 'dpkg-deb -x "$0" .', "usr/lib/adminkit/bin/python"),
        ("adminkit-[0-9]*.rpm", 'rpm2cpio "$0" | cpio -id --quiet', "usr/lib/adminkit/bin/python"),
        ("adminkit-*-x86_64.tar.gz", 'tar -xzf "$0" --strip-components=1', "env/bin/python3"),
    ):
        for path in (one for one in made.glob(pattern) if not one.name.endswith(".src.rpm")):
            to = folder / path.name
            to.mkdir()
            subprocess.run(["sh", "-ec", unpack, path], cwd=to, check=True, capture_output=True)
            if (to / "usr").exists():
                (to / "usr/bin/python3").symlink_to("/usr/bin/python3")  # where Debian's link leads from here
            yield path, to / python


def _there(made: Path) -> None:
    if not made.is_dir():
        raise NotRun(f"no {made}: make release")


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


CHECKS: Final[dict[str, Check]] = {
    "the number is one": numbers,
    "CHANGELOG.md has its section": changes,
    "the notes are written": notes,
    "the schema is frozen": schema,
    "the commit is tagged": tag,
    "everything is built": complete,
    "checksums": checksums,
    "signature": signature,
    "the list of parts is complete": parts_listed,
    "what was built runs": runs,
}


def release(root: Path, made: Path, key: Path | None = None) -> int:
    """Print a line for each. 0 when all hold; what was not run counts as failed."""
    failed = 0
    for name, check in CHECKS.items():
        try:
            wrong = check(root, made) if check is not signature else signature(root, made, key)
        except NotRun as why:
            print(f"not run  {name}: {why}")
            failed += 1
            continue
        print(f"failed   {name}: {wrong}" if wrong else f"ok       {name}", flush=True)
        failed += bool(wrong)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} hold", file=sys.stderr)
    return int(failed > 0)
