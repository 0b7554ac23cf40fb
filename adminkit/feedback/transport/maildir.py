"""Letters into a Maildir: written aside, flushed, then named. One letter has one name, however often it is tried."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from adminkit.errors import cause
from adminkit.feedback.transport.base import Stopped


class Maildir:
    """DIR/new/NAME; what a mail program has moved to DIR/cur counts as delivered too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Maildir:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str:
        """The envelope goes in front, as delivery agents write it: whoever carries it on needs it."""
        name = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32] + ".adminkit"
        head = f"Return-Path: <{sender}>\r\n" + "".join(f"Delivered-To: {one}\r\n" for one in recipients)
        try:
            for child in ("tmp", "new", "cur"):
                (self.folder / child).mkdir(parents=True, exist_ok=True)
            if any((self.folder / "cur").glob(f"{name}*")) or (self.folder / "new" / name).exists():
                return f"{name} was there"
            aside = self.folder / "tmp" / name
            aside.unlink(missing_ok=True)  # of a run that was killed
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            with os.fdopen(handle, "wb") as file:
                file.write(head.encode() + message)
                file.flush()
                os.fsync(file.fileno())
            aside.rename(self.folder / "new" / name)
        except OSError as error:
            raise Stopped(f"couldn't write to {self.folder}: {cause(error)}") from error
        return name
