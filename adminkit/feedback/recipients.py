"""Who may get letters, and at which address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from adminkit.config import Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback.prefs import Prefs, is_address
from adminkit.files import read_named
from adminkit.users import in_slurmdbd

#: Bytes of the file of addresses.
MOST_ADDRESSES: Final = 16 << 20
#: The name of a uid on this host; None for an unknown uid; NamesAway.
Names = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class People:
    """The site's rules about users, the host's names and the file of addresses."""

    settings: Feedback
    names: Names
    addresses: Mapping[str, str]
    domains: tuple[str, ...] = field(init=False)  # letters may go only to these

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", allowed_domains(self.settings, self.addresses))

    def refused(self, user: str | None, uid: int | None, account: str | None) -> str | None:
        """Why that user gets no letter: unknown, service or excluded; None where letters may go. NamesAway."""
        if user is None or uid is None or not same_user(self.names(uid), user):
            return "unknown"
        return self.excluded(user, uid, account)

    def excluded(self, user: str, uid: int, account: str | None) -> str | None:
        """Why the settings let that user have no letter: service or excluded. The host's names are not asked."""
        if uid < self.settings.min_uid:
            return "service"
        if _any(user, self.settings.exclude_users) or (account and _any(account, self.settings.exclude_accounts)):
            return "excluded"
        return None

    def address(self, user: str, prefs: Prefs) -> str | None:
        """The user's own choice, else that of the file, else user@domain. None without any, or if it is not valid."""
        address = prefs.address or self.addresses.get(user)
        if address is None and self.settings.domain:
            address = f"{user}@{self.settings.domain}"
        return address if address is not None and is_address(address) else None

    def allows(self, address: str) -> bool:
        """Whether letters may go there. The address that a user chose could be anybody's."""
        return is_allowed(address, self.domains)


def same_user(host: str | None, slurm: str) -> bool:
    """Whether the name that the host has for a uid is the one that slurmdbd has."""
    return host is not None and slurm in in_slurmdbd(host)


def allowed_domains(settings: Feedback, addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The patterns of domains that letters may go to: [feedback] domains, else `domain` and those of the file."""
    if settings.domains:
        return settings.domains
    known = {_domain(address) for address in addresses.values()}
    return tuple(sorted(known | ({settings.domain} if settings.domain else set())))


def is_allowed(address: str, domains: Sequence[str]) -> bool:
    """Whether the address is in one of these domains."""
    return any(fnmatchcase(_domain(address), domain.lower()) for domain in domains)


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()


def read_addresses(path: Path | None) -> dict[str, str]:
    """The file of addresses: lines of USER ADDRESS, comments after #. AdminkitError names the line of a mistake."""
    if path is None:
        return {}
    lines = read_named(path, MOST_ADDRESSES, "correct [feedback] addresses").decode("utf-8", "replace").splitlines()
    addresses = {}
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].replace(":", " ", 1).split()
        if not words:
            continue
        if len(words) != 2 or not is_address(words[1]):
            raise AdminkitError(f"{path}, line {number}: not USER ADDRESS", "write it as: ada ada.l@example.org")
        addresses[words[0]] = words[1]
    return addresses


def _any(word: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)
