"""Who is left without letters and hints for a time, so that their effect can be told from what would happen anyway."""

from __future__ import annotations

import hashlib


def held_out(uid: int, share: float, salt: str, until: int | None, now: int) -> bool:
    """Whether this user belongs to the hold-out at `now`, epoch seconds: by uid and salt, so always the same ones.

    Who is held out at a share is so at every larger one. No `until` is no hold-out: it has to end.
    """
    if until is None or now >= until or share <= 0:
        return False
    digest = hashlib.sha256(f"{salt}\0{uid}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2.0**64
