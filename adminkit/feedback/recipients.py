"""Who may get a letter, and where: a real user above the site's services, by one address in an allowed domain."""

from __future__ import annotations

import pwd
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from adminkit.config import Feedback
from adminkit.errors import AdminkitError, cause
from adminkit.feedback.prefs import Prefs, is_address

#: The name of a uid on this host; None for a uid it does not know.
Names = Callable[[int], str | None]


def system_name(uid: int) -> str | None:
    """What this host calls it, by whatever it is told to ask (nsswitch)."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class People:
    """The site's rules about users, with what they are asked of."""

    settings: Feedback
    names: Names
    addresses: Mapping[str, str]
    domains: tuple[str, ...] = field(init=False)  # that letters may go to

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", allowed_domains(self.settings, self.addresses))

    def refused(self, user: str | None, uid: int | None, account: str | None) -> str | None:
        """Why that user gets none: unknown, service or excluded. None where they may."""
        if user is None or uid is None or self.names(uid) != user:
            return "unknown"
        if uid < self.settings.min_uid:
            return "service"
        if _any(user, self.settings.exclude_users) or (account and _any(account, self.settings.exclude_accounts)):
            return "excluded"
        return None

    def address(self, user: str, prefs: Prefs) -> str | None:
        """The user's own choice, else the map's, else user@domain. None where there is none."""
        chosen = prefs.address or self.addresses.get(user)
        if chosen is None and self.settings.domain:
            chosen = f"{user}@{self.settings.domain}"
        return chosen if chosen is not None and is_address(chosen) else None

    def allows(self, address: str) -> bool:
        """Whether letters to users may go there: what they choose for themselves could be anybody's."""
        return is_allowed(address, self.domains)


def allowed_domains(settings: Feedback, addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The patterns of domains that letters may go to: those set, else that of `domain` and those of the map."""
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
    """A map of lines USER ADDRESS, # for remarks. AdminkitError names the line of a slip."""
    if path is None:
        return {}
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        why = cause(error)
        raise AdminkitError(f"couldn't read {path}: {why}", "correct [feedback] addresses") from error
    found = {}
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].replace(":", " ", 1).split()
        if not words:
            continue
        if len(words) != 2 or not is_address(words[1]):
            raise AdminkitError(f"{path}, line {number}: not USER ADDRESS", "such as: ada ada.l@example.org")
        found[words[0]] = words[1]
    return found


def _any(word: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)
