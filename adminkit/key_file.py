"""The file of a secret key: 32 bytes as hexadecimal digits, mode 0600."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.files import ASIDE, open_named

KEY_BYTES: Final = 32


def read_key(path: Path | None) -> bytes:
    """The key in that file, which is made with mode 0600 where it is missing; without a file one that is kept nowhere.

    AdminkitError for a file that others may read, or that is not a key.
    """
    if path is None:
        return secrets.token_bytes(KEY_BYTES)
    key = secrets.token_bytes(KEY_BYTES)
    try:
        write_key(path, key)
    except FileExistsError:
        return old_key(path)
    except OSError as error:
        raise AdminkitError(
            f"no key can be made at {path}: {(error.strerror or '').lower()}", "name another file with --key"
        ) from error
    return key


def write_key(path: Path, key: bytes) -> None:
    """Write a key into a new file, whole or not at all. OSError where one is there, or where none can be made."""
    aside = path.with_name(f"{ASIDE}{secrets.token_hex(8)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(handle)
        os.link(aside, path)
    finally:
        aside.unlink()


def old_key(path: Path) -> bytes:
    """The key in that file. AdminkitError where it is missing, is of another user, open to others, or no key."""
    try:
        with open_named(path, 4096, links=False) as file:
            facts = os.fstat(file.fileno())
            text = file.read(4096).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AdminkitError(f"{path} cannot be read as a key", "name another file with --key") from error
    if facts.st_uid != os.geteuid():
        raise AdminkitError(
            f"the key {path} belongs to uid {facts.st_uid}, who can read it", "name a file that does not exist"
        )
    if facts.st_mode & 0o077:
        raise AdminkitError(
            f"others may read the key {path}", f"chmod 600 {path}; if somebody has read it, make a new key"
        )
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise AdminkitError(
            f"{path} is not a key of {2 * KEY_BYTES} hexadecimal digits",
            "name a file that does not exist, to get a new key",
        )
    return key
