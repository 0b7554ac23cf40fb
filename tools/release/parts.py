"""The list of parts (CycloneDX) of the packages: the wheels of requirements.txt, by name, version and hashes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import adminkit

Part = tuple[str, str, frozenset[str]]


def name() -> str:
    return f"adminkit-{adminkit.__version__}.cdx.json"


def write(root: Path, path: Path) -> None:
    """Write the list by cyclonedx-py, without a time, and say which adminkit it is of."""
    words = [
        "requirements",
        "requirements.txt",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
        "--of",
        "JSON",
    ]
    module = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py"]
    subprocess.run([*module, *words, "-o", path], cwd=root, check=True, stdout=subprocess.DEVNULL)
    document = json.loads(path.read_text())
    document["metadata"]["component"]["version"] = adminkit.__version__
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


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


def pinned(requirements: str) -> set[Part]:
    """The same of requirements.txt."""
    blocks = re.split(r"^(?=[\w.-]+==)", requirements, flags=re.MULTILINE)[1:]
    found = set()
    for block in blocks:
        wheel, release = re.match(r"([\w.-]+)==([\w.]+)", block).groups()  # type: ignore[union-attr]
        found.add((wheel, release, frozenset(re.findall(r"--hash=sha256:(\w+)", block))))
    return found
