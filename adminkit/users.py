"""Users of this host, by its sources of names: /etc/passwd and whatever else nsswitch.conf names, such as LDAP.

None is a user whom no source has. Where the last source does not answer nobody knows: NamesAway, never None.

Trap: pwd raises KeyError for both, getent exits with 2. And some sources answer "not found" when they should not: sssd
without its server, and every one that stands before another in nsswitch.conf. So what takes a right away from a user
without a name has to ask whether the user had one (deploy/refresh.py).
"""

from __future__ import annotations

import ctypes
import errno
import os
import pwd
from typing import Final

from adminkit.errors import AdminkitError
from adminkit.quote import quote

#: Bytes for one entry of the system's users.
_ROOM: Final = 1 << 20


class NamesAway(AdminkitError):
    """A source of users does not answer, so whether there is such a user is not known."""

    def __init__(self, who: str) -> None:
        super().__init__(
            f"couldn't look up {who}: a source of users in /etc/nsswitch.conf is not responding",
            "check that the directory (LDAP, sssd) is running: getent passwd",
        )


def by_name(name: str) -> pwd.struct_passwd | None:
    """The entry of a user; None where no source has that name. NamesAway."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        _refuse_away("getpwnam_r", os.fsencode(name), f"user {quote(name)}")
    except ValueError:  # no name at all, such as one with a NUL
        pass
    return None


def by_uid(uid: int) -> pwd.struct_passwd | None:
    """The same by the number."""
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        _refuse_away("getpwuid_r", ctypes.c_uint32(uid), f"uid {uid}")
    return None


def uid_of(name: str) -> int | None:
    """The number of a user; None where no source has that name. NamesAway."""
    found = by_name(name)
    return None if found is None else found.pw_uid


def name_of(uid: int) -> str | None:
    """The name of a user; None where no source has that number. NamesAway."""
    found = by_uid(uid)
    return None if found is None else found.pw_name


def in_slurmdbd(name: str) -> tuple[str, ...]:
    """What slurmdbd may call a user of this host, the likeliest last: the same name, or the same in lower case.

    Trap: slurmdbd lowers the ASCII letters of every user's name unless slurmdbd.conf has PreserveCaseUser
    (slurmdbd.conf(5)), and a directory may know users in any case.
    """
    return tuple(dict.fromkeys((name, os.fsdecode(os.fsencode(name).lower()))))


def shown(uid: int) -> str:
    """The name to show for a user: the number where no name is known."""
    try:
        return name_of(uid) or str(uid)
    except NamesAway:
        return str(uid)


def _refuse_away(call: str, key: bytes | ctypes.c_uint32, who: str) -> None:
    """NamesAway unless the C library says that it asked every source, and found nothing: 0, and no entry."""
    room, entry, found = ctypes.create_string_buffer(_ROOM), ctypes.create_string_buffer(256), ctypes.c_void_p()
    code = getattr(ctypes.CDLL(None), call)(key, entry, room, ctypes.c_size_t(_ROOM), ctypes.byref(found))
    if code not in (0, errno.ERANGE):
        raise NamesAway(who)
