"""Copies of letters into chat services, by apprise, which knows the services. Mail stays what counts: a service that is
away costs one note, never a letter.

Addresses of services are secrets, and only the operators' file has any: users choose one by its name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote as as_url

from adminkit.config import Feedback
from adminkit.errors import AdminkitError, unknown_word
from adminkit.feedback.letter import Letter
from adminkit.feedback.prefs import SERVICE
from adminkit.feedback.secret import secret_lines
from adminkit.quote import clean, quote

#: What stands for the user's name in the address of a service that users may choose.
USER: Final = "{user}"
#: Bytes of the file, and characters of a message: the least that the usual services take whole.
MOST_FILE: Final = 64 << 10
MOST_TEXT: Final = 1500
#: Seconds for one message.
TIMEOUT: Final = 10.0
_PERSON: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
#: Characters with a meaning for a service: who is called, tags, the end of the block, a link.
_PLAIN: Final = str.maketrans({"@": "\uff20", "<": "\u2039", ">": "\u203a", "`": "'"})
_CUT: Final = "\n… the email has the rest"

#: post(url, text): whether the service took it.
Post = Callable[[str, str], bool]


def read_services(path: Path | None) -> dict[str, str]:
    """The services by name, from lines of NAME URL. AdminkitError for a file that others may read, or a mistake; it
    never quotes an address.
    """
    if path is None:
        return {}
    hint = f"write lines of NAME URL into it, as apprise takes them; then chmod 600 {path}"
    services: dict[str, str] = {}
    for number, line in enumerate(secret_lines(path, hint, MOST_FILE), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or not SERVICE.fullmatch(words[0]) or "://" not in words[1] or words[0] in services:
            raise AdminkitError(f"{path}, line {number}: not NAME URL, or a name that is there already", hint)
        services[words[0]] = words[1]
    return services


def harmless(subject: str, text: str) -> str:
    """A letter as one block without markup: nobody is called by it, and nothing in it is a tag or a link."""
    lines = "\n".join(clean(line) for line in f"{subject}\n\n{text}".splitlines())
    plain = lines.translate(_PLAIN).replace("://", "\uff1a//")
    shown = plain if len(plain) <= MOST_TEXT else plain[: MOST_TEXT - len(_CUT)] + _CUT
    return f"```\n{shown}\n```"


def post(url: str, text: str) -> bool:
    """Hand a message to a service, once, without following it elsewhere. AdminkitError without apprise."""
    try:
        from apprise import Apprise, AppriseAsset, NotifyFormat, PersistentStoreMode
    except ImportError as error:
        raise AdminkitError("apprise is not installed", "pip install 'adminkit[chat]'") from error
    for name in ("apprise", "urllib3"):  # their lines have the address, or a part of it
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    asset = AppriseAsset(plugin_paths=[], storage_mode=PersistentStoreMode.MEMORY, service_timeout=TIMEOUT)
    asset.http_redirects = False
    asset.async_mode, asset.app_id, asset.image_url_mask = False, "adminkit", ""  # no picture of another host
    service = Apprise(asset=asset)
    try:
        return service.add(url) and bool(service.notify(body=text, body_format=NotifyFormat.TEXT, timeout=TIMEOUT))
    except Exception:  # whatever a plugin raises: a chat service stops no letter
        return False


@dataclass(slots=True)
class Chat:
    """The services of one run. One that failed is not tried again in it."""

    services: Mapping[str, str]
    offered: tuple[str, ...]  # that users may choose
    operators: tuple[str, ...]  # that get what operators get
    post: Post = post
    failed: set[str] = field(default_factory=set)

    def copy(self, letter: Letter, user: str | None, choice: str | None) -> list[str]:
        """Send a copy of a letter that has left: to the user's choice, or of an operators' letter to theirs. Returns
        what went wrong, each in a sentence.
        """
        if user is None:
            wanted = [(name, self.services.get(name)) for name in self.operators]
        elif choice is None:
            return []
        elif choice not in self.offered:
            return []  # the operators no longer offer it, as `feedback prefs` says
        else:
            wanted = [(choice, self._of(choice, user))]
        return [note for name, url in wanted if (note := self._send(name, url, letter))]

    def _of(self, name: str, user: str) -> str | None:
        """The address for that user. None: the service is not for users, or the name makes no address."""
        url = self.services.get(name)
        if url is None or USER not in url or not _PERSON.fullmatch(user):
            return None
        return url.replace(USER, as_url(user, safe=""))

    def _send(self, name: str, url: str | None, letter: Letter) -> str:
        if name in self.failed:
            return ""
        if url is None:
            self.failed.add(name)
            return f"chat {name}: [feedback] webhook has no such service, or it is not for users (no {USER} in it)"
        try:
            if self.post(url, harmless(letter.subject, letter.text)):
                return ""
            why = "it did not take a message"
        except AdminkitError as error:
            why = f"{error.message} ({error.hint})"
        self.failed.add(name)
        return f"chat {name}: {why}; the letters went by mail, and no more copies are sent there in this run"


def of_settings(settings: Feedback) -> Chat | None:
    """The configured services; None where there are none. AdminkitError for a mistake in the file."""
    if settings.webhook is None:
        return None
    services = read_services(settings.webhook)
    for name in (*settings.chat, *settings.operators_chat):
        if name not in services:
            near = unknown_word("chat service", quote(name), services)
            raise AdminkitError(f"{settings.webhook}: {near.message}", near.hint)
    return Chat(services, settings.chat, settings.operators_chat)
