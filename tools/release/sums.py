"""SHA256SUMS of a release's folder, and its signature: both are verified by what every distribution has."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import Final

NAME: Final = "SHA256SUMS"
SIGNATURE: Final = "SHA256SUMS.asc"


def of(folder: Path) -> dict[str, str]:
    """Name -> SHA-256, of every file but these two."""
    files = sorted(path for path in folder.iterdir() if path.name not in (NAME, SIGNATURE))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def write(folder: Path) -> None:
    """As `sha256sum -c` reads it."""
    (folder / NAME).write_text("".join(f"{digest}  {name}\n" for name, digest in of(folder).items()))


def wrong(folder: Path) -> list[str]:
    """What differs from the list: a file that was changed, one that is missing, one that is not listed."""
    lines = ((folder / NAME).read_text() if (folder / NAME).exists() else "").splitlines()
    listed = {line[66:]: line[:64] for line in lines}
    there = of(folder)
    found = [f"{name} is not listed in {NAME}" for name in there if name not in listed]
    for name, digest in listed.items():
        if name not in there:
            found.append(f"{name} is missing")
        elif there[name] != digest:
            found.append(f"{name} is not what was listed")
    return found if listed else [f"no {NAME}"]


def sign(folder: Path, key: str) -> None:
    """List what is there now, with what was added from other hosts, and sign it with a key of this user's GnuPG."""
    write(folder)
    words: list[str | Path] = ["gpg", "--batch", "--yes", "--armor", "--detach-sign", "--local-user", key]
    done = subprocess.run([*words, "-o", folder / SIGNATURE, folder / NAME], check=False)
    if done.returncode:
        raise SystemExit(f"error: {folder / NAME} could not be signed with {key}\nhint: gpg --list-secret-keys")


def signer(folder: Path, key: Path) -> str | None:
    """The fingerprint of the signature's key, if it is in the file `key`; None where it is not, or signed other bytes.

    No keyring of this user's is asked: a key that gpg happens to know is not the release's.
    """
    with tempfile.TemporaryDirectory() as home:
        ring = Path(home) / "ring.gpg"
        dearmor: list[str | Path] = ["gpg", "--homedir", home, "--batch", "--dearmor", "-o", ring, key]
        subprocess.run(dearmor, capture_output=True, check=False)
        words: list[str | Path] = ["gpgv", "--homedir", home, "--status-fd", "1", "--keyring", ring]
        done = subprocess.run([*words, folder / SIGNATURE, folder / NAME], capture_output=True, text=True, check=False)
    valid = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("[GNUPG:] VALIDSIG ")]
    return valid[0] if done.returncode == 0 and valid else None
