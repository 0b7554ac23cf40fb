"""The pinned wheels against what is known of them: pip-audit, which asks a database on the network.

Trap: of a wheel that the database does not answer for, pip-audit says only that it was skipped, and ends with 0.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.setup import guard

ROOT: Final = Path(__file__).resolve().parents[2]
PINS: Final = tuple(
    ROOT / name for name in ("requirements.txt", "requirements-sqlite.txt", "debian/build-requirements.txt")
)
NO_ANSWER: Final = guard.Verdict(
    "the database of advisories does not answer", hint="run make check where the network can be reached"
)


def obstacle() -> guard.Verdict | None:
    """Whether the database answers for the first wheel: one question, for it may be asked in vain on every run."""
    first = re.split(r"^(?=[\w.-]+==)", PINS[0].read_text(), flags=re.MULTILINE)[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.txt"
        path.write_text(first)
        return NO_ANSWER if skipped(answer(path)) else None


def answer(requirements: Path) -> str:
    """What pip-audit prints; nothing where it could not ask."""
    words = ["-m", "pip_audit", "-r", requirements, "--require-hashes", "--disable-pip", "--no-deps", "-f", "json"]
    done = subprocess.run([sys.executable, *words, "--timeout", "10"], capture_output=True, text=True, check=False)
    return done.stdout


def skipped(text: str) -> list[str]:
    """The wheels that were not looked up; one unnamed where there is no answer at all."""
    if not text.strip():
        return ["every wheel"]
    return [one["name"] for one in json.loads(text)["dependencies"] if "skip_reason" in one]


def known(text: str) -> list[str]:
    """A line for each advisory: the wheel, what it is called, and the release that is without it."""
    return [
        f"{one['name']} {one['version']}: {found['id']}, repaired in {', '.join(found['fix_versions']) or 'no release'}"
        for one in json.loads(text)["dependencies"]
        for found in one.get("vulns", ())
    ]


def main() -> int:
    code = 0
    for path in PINS:
        text = answer(path)
        missed = skipped(text)
        lines = known(text) if text.strip() else []
        print(*lines, sep="\n", end="\n" if lines else "")
        if missed:
            print(f"{path.name}: not looked up: {', '.join(missed)}")
        code |= bool(lines or missed)
    return code


if __name__ == "__main__":
    sys.exit(main())
