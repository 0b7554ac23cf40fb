"""The list of parts (CycloneDX) of what a release consists of: the wheels of its requirements, by name, version and
hashes, and what the archive's Python was built from, by name and version."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Final

import adminkit

Part = tuple[str, str, frozenset[str]]
#: The pinned wheels: of every package, and of those for distributions with an old SQLite.
REQUIREMENTS: Final = ("requirements.txt", "requirements-sqlite.txt")
#: The file of an archive that names the source packages of its Python, a line each: Debian's NAME_VERSION.
SOURCES: Final = re.compile(r"adminkit-[^/]+/env/lib/adminkit/SOURCES")


def name() -> str:
    return f"adminkit-{adminkit.__version__}.cdx.json"


def write(root: Path, path: Path, archive: Path | None = None) -> None:
    """Write the list by cyclonedx-py, without a time, and say which adminkit it is of."""
    first, *others = (_of_wheels(root, file, path) for file in REQUIREMENTS)
    for other in others:
        for part in other["components"]:
            part["bom-ref"] = f"sqlite-{part['bom-ref']}"  # of its line, as in the first document
        first["components"] += other["components"]
    first["components"] += [_of_source(one) for one in built_from(archive)]
    first["dependencies"] = [{"ref": one["bom-ref"]} for one in (first["metadata"]["component"], *first["components"])]
    first["metadata"]["component"]["version"] = adminkit.__version__
    path.write_text(json.dumps(first, indent=2, sort_keys=True) + "\n")


def _of_wheels(root: Path, requirements: str, path: Path) -> dict[str, Any]:
    words = ["requirements", requirements, "--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON"]
    module = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py"]
    subprocess.run([*module, *words, "-o", path], cwd=root, check=True, stdout=subprocess.DEVNULL)
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def built_from(archive: Path | None) -> list[tuple[str, str]]:
    """Name and version of each source that the archive's Python was built from; none without an archive."""
    if archive is None:
        return []
    with tarfile.open(archive) as files:
        member = next((one for one in files if SOURCES.fullmatch(one.name)), None)
        lines = files.extractfile(member) if member is not None else None
        if lines is None:
            raise SystemExit(f"error: {archive} does not say what its Python was built from\nhint: make archive")
        found = (line.decode().strip().partition("_") for line in lines)
        return sorted((one, version) for one, _, version in found)


def _of_source(source: tuple[str, str]) -> dict[str, Any]:
    one, version = source
    return {
        "type": "library",
        "name": one,
        "version": version,
        "description": "a source of the archive's Python",
        "bom-ref": f"archive-{one}",
        # Source packages of Debian have a revision; SQLite's amalgamation comes from npm.
        **({"purl": f"pkg:deb/debian/{one}@{version.replace('+', '%2B')}?arch=source"} if "-" in version else {}),
    }


def listed(document: dict[str, Any]) -> set[Part]:
    """Name, version and SHA-256 of each part of the document."""
    return {
        (
            one["name"],
            one["version"],
            frozenset(
                made["content"]
                for place in one.get("externalReferences", ())
                for made in place.get("hashes", ())
                if made["alg"] == "SHA-256"
            ),
        )
        for one in document["components"]
    }


def wanted(root: Path, archive: Path | None) -> set[Part]:
    """The same of what the release consists of."""
    wheels = (part for file in REQUIREMENTS for part in pinned((root / file).read_text()))
    return {*wheels, *((one, version, frozenset()) for one, version in built_from(archive))}


def pinned(requirements: str) -> set[Part]:
    """The same of a file of requirements."""
    blocks = re.split(r"^(?=[\w.-]+==)", requirements, flags=re.MULTILINE)[1:]
    found = set()
    for block in blocks:
        wheel, release = re.match(r"([\w.-]+)==([\w.]+)", block).groups()  # type: ignore[union-attr]
        found.add((wheel, release, frozenset(re.findall(r"--hash=sha256:(\w+)", block))))
    return found
