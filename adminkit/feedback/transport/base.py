"""What a transport is: a letter is accepted, or Later, Refused or Stopped is raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

#: After this many failures in a row that are of no letter (a lost connection, a program that hangs) no more are tried.
MOST_LOST: Final = 3


class Later(Exception):
    """This letter may be accepted later: a full mailbox, a greylist, a lost connection."""


class Refused(Exception):
    """This letter is never accepted: an unknown address, too large, not wanted."""


class Stopped(Exception):
    """No letter is accepted now: the server does not answer, the disk is full, the login is wrong."""


class Transport(Protocol):
    """`send` returns the reply of whoever accepted the letter; Later, Refused or Stopped where nobody did."""

    def send(self, sender: str, recipients: Sequence[str], message: bytes, key: str) -> str: ...
