"""The hold-out: users without letters and hints for a time; `adminkit report feedback` compares others with them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adminkit.config import Feedback


def held_out(uid: int, settings: Feedback, now: int, tz: tzinfo | None = None) -> bool:
    """Whether this user is held out at `now`, epoch seconds. It ends at the midnight that begins holdout_until.

    Without holdout_until there is no hold-out: it has to end.
    """
    if settings.holdout_until is None:
        return False
    last = date.fromisoformat(settings.holdout_until)
    return now < datetime(last.year, last.month, last.day, tzinfo=tz).timestamp() and is_held_out(settings)(uid)


def is_held_out(settings: Feedback) -> Callable[[int], bool]:
    """Whether a uid belongs to the hold-out, also after it has ended. It depends only on uid, salt and share.

    A uid that is held out at one share is held out at every larger one.
    """

    def drawn(uid: int) -> bool:
        digest = hashlib.sha256(f"{settings.holdout_salt}\0{uid}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < settings.holdout * 2.0**64

    return drawn
