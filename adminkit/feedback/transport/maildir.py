"""Letters into a Maildir: written aside, flushed, renamed. A letter has the same name at each attempt."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from adminkit.errors import cause
from adminkit.feedback.transport.base import Stopped
from adminkit.files import folder_to_write, replace_file


class Maildir:
    """Writes DIR/new/NAME. A letter that a mail program has moved to DIR/cur counts as delivered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Maildir:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str:
        """The envelope is written in front (Return-Path, Delivered-To), as by a delivery agent."""
        name = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32] + ".adminkit"
        head = f"Return-Path: <{sender}>\r\n" + "".join(f"Delivered-To: {one}\r\n" for one in recipients)
        try:
            for child in ("tmp", "new", "cur"):
                (self.folder / child).mkdir(parents=True, exist_ok=True)
            if any((self.folder / "cur").glob(f"{name}*")) or (self.folder / "new" / name).exists():
                return f"{name} was there already"
            with folder_to_write(self.folder / "new") as new, folder_to_write(self.folder / "tmp") as aside:
                replace_file(new, name, head.encode() + message, aside=name, aside_folder=aside)
        except OSError as error:
            raise Stopped(f"couldn't write to {self.folder}: {cause(error)}") from error
        return name
