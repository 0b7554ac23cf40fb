"""Who is left without letters and hints for a time, so that their effect can be told from what would happen anyway."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adminkit.config import Feedback


def held_out(uid: int, settings: Feedback, now: int, tz: tzinfo | None = None) -> bool:
    """Whether this user gets nothing at `now`, epoch seconds. It ends with the midnight that begins its last day.

    No `holdout_until` is no hold-out: it has to end.
    """
    if settings.holdout_until is None:
        return False
    last = date.fromisoformat(settings.holdout_until)
    return now < datetime(last.year, last.month, last.day, tzinfo=tz).timestamp() and is_held_out(settings)(uid)


def is_held_out(settings: Feedback) -> Callable[[int], bool]:
    """Who belongs to the hold-out, now or once it has ended: by uid and salt, so always the same ones.

    Who is held out at a share is so at every larger one.
    """

    def drawn(uid: int) -> bool:
        digest = hashlib.sha256(f"{settings.holdout_salt}\0{uid}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < settings.holdout * 2.0**64

    return drawn
