"""Users' own choices: prefs/UID.toml in a folder of mode 1733, where everybody may create a file and nobody may list.

Anybody can create a file of any name there, so a file counts only if it is regular, of at most MOST bytes, and belongs
to that uid. It is opened without following links and without blocking (it may be a pipe).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.errors import AdminkitError, UsageError, cause, unknown_word
from adminkit.files import folder_to_write, replace_file
from adminkit.messages import LANGUAGES
from adminkit.quote import quote
from adminkit.toml import NoToml, parse_toml
from adminkit.trace.location import SYSTEM_TRACE

FOLDER_MODE: Final = 0o1733
MOST: Final = 4096
#: each: after a job and once a week. week: only once a week. never: none at all.
FREQUENCIES: Final = ("each", "week", "never")
#: Addresses that SMTP takes without an extension; no character with a meaning in headers.
_ADDRESS: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
#: The name of a chat service.
SERVICE: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
#: The name of a user's file.
FILE: Final = re.compile(r"([1-9][0-9]{0,9})\.toml")


@dataclass(frozen=True, slots=True)
class Prefs:
    """One user's choices. None: the site's default."""

    letters: str = "each"  # one of FREQUENCIES
    language: str | None = None
    address: str | None = None
    hints: bool = True  # at submission
    plan: bool = True  # backfill may plan with what jobs needed
    chat: str | None = None  # the name of a chat service that gets a copy of each letter


#: The choices of a broken file: its author wanted less of something.
NOTHING: Final = Prefs(letters="never", hints=False, plan=False)


@dataclass(frozen=True, slots=True)
class Read:
    """The choices of a user, and what is wrong with the file. A mistake in the user's own file stops the letters."""

    prefs: Prefs
    problem: str = ""


def is_address(text: str) -> bool:
    """Whether it is valid in headers and in SMTP, unquoted."""
    return _ADDRESS.fullmatch(text) is not None and ".." not in text


def folder_of(settings: Config, trace: Path | None = None) -> Path:
    """The folder of users' choices: [feedback] prefs, else `prefs` beside the trace."""
    return settings.feedback.prefs or (trace or settings.db or SYSTEM_TRACE).parent / "prefs"


def check_folder(folder: Path, trace: Path | None = None) -> None:
    """AdminkitError where others than its owner could change users' files, or list them. A missing folder is empty.

    Its owner has to be root, this user or the owner of `trace`: operators and root read it too.
    """
    try:
        facts = folder.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise AdminkitError(f"couldn't look at {folder}: {cause(error)}", "name another in [feedback] prefs") from error
    mode = stat.S_IMODE(facts.st_mode)
    repair = f"as its owner: chmod 1733 {folder}"
    if not stat.S_ISDIR(facts.st_mode):
        raise AdminkitError(f"{folder} is not a folder", "move it away, or name another in [feedback] prefs")
    if facts.st_uid not in (0, os.geteuid()) and facts.st_uid != _owner(trace):
        raise AdminkitError(f"{folder} belongs to uid {facts.st_uid}", "give it to root or to the owner of the trace")
    if mode & 0o022 and not mode & stat.S_ISVTX:
        raise AdminkitError(f"{folder} has mode {mode:04o}: users could remove each other's choices", repair)
    if mode & 0o044:
        raise AdminkitError(f"{folder} has mode {mode:04o}: users could see who has a file there", repair)


def _owner(trace: Path | None) -> int | None:
    try:
        return trace.stat().st_uid if trace is not None else None
    except OSError:
        return None


def out_of_reach(folder: Path) -> Path | None:
    """The nearest parent folder that other users may not enter; None where they can reach `folder`."""
    return next((above for above in folder.absolute().parents if above.exists() and not above.stat().st_mode & 1), None)


def make_folder(folder: Path) -> bool:
    """Create the folder if it is missing. Whether it was created."""
    if folder.is_dir():
        return False
    try:
        folder.mkdir()
        folder.chmod(FOLDER_MODE)
    except OSError as error:
        raise AdminkitError(f"couldn't make {folder}: {cause(error)}", "name another in [feedback] prefs") from error
    return True


def read(folder: Path, uid: int) -> Read:
    """The choices of that user; the defaults without a file."""
    path = folder / f"{uid}.toml"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Read(Prefs())
    except OSError as error:
        return _of_others(path, uid, cause(error))
    try:
        facts = os.fstat(handle)
        plain = stat.S_ISREG(facts.st_mode)
        if not is_of(facts, uid):
            return Read(Prefs(), f"{path} is not that user's own file and is not read")
        if not plain:
            return Read(NOTHING, f"{path} is not a plain file")
        if facts.st_size > MOST:
            return Read(NOTHING, f"{path} is larger than {MOST} bytes")
        text = os.read(handle, MOST + 1)
    except OSError as error:
        return Read(NOTHING, f"couldn't read {path}: {cause(error)}")
    finally:
        os.close(handle)
    try:
        return Read(parse(text))
    except AdminkitError as error:
        return Read(NOTHING, f"{path}: {error.message}: {error.hint}")


def is_of(facts: os.stat_result, uid: int) -> bool:
    """Whether the file is its user's own. One with a second hard link may be somebody else's doing."""
    return facts.st_uid == uid and (not stat.S_ISREG(facts.st_mode) or facts.st_nlink == 1)


def _of_others(path: Path, uid: int, why: str) -> Read:
    """A file that could not be opened: the user's own stops the user's letters, somebody else's is ignored."""
    with suppress(OSError):
        if path.lstat().st_uid != uid:
            return Read(Prefs(), f"{path} is not that user's own file and is not read")
    return Read(NOTHING, f"couldn't open {path}: {why}")


def parse(text: bytes) -> Prefs:
    """The choices in the text of a file. UsageError names the wrong key and the nearest one."""
    try:
        values = parse_toml(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError("this is not UTF-8", 'write key = "value"') from error
    except NoToml as error:
        what, at, place = str(error).rpartition(" (at ")  # what may quote the file, the place never does
        raise UsageError(
            f"this is not TOML: {quote(what or place)}{at if what else ''}{place if what else ''}",
            'write key = "value"',
        ) from error
    return checked(values)


def checked(values: Mapping[str, Any]) -> Prefs:
    """The choices in `values`. UsageError for an unknown key or a wrong value."""
    known = [f.name for f in fields(Prefs)]
    for key in values:
        if key not in known:
            raise unknown_word("choice", key, known)
    letters, language = values.get("letters", "each"), values.get("language")
    address, hints = values.get("address"), values.get("hints", True)
    if letters not in FREQUENCIES:
        raise unknown_word("frequency", str(letters), FREQUENCIES)
    if language is not None and language not in LANGUAGES:
        raise unknown_word("language", str(language), LANGUAGES)
    if address is not None and not (isinstance(address, str) and is_address(address)):
        raise UsageError("this is not an email address", "write it as ada@example.org")
    if not isinstance(hints, bool):
        raise UsageError(f"hints is true or false, not {quote(str(hints))}", "write for example: hints = false")
    plan = values.get("plan", True)
    if not isinstance(plan, bool):
        raise UsageError(f"plan is true or false, not {quote(str(plan))}", "write for example: plan = false")
    chat = values.get("chat")
    if chat is not None and not (isinstance(chat, str) and SERVICE.fullmatch(chat)):
        raise UsageError("this is not the name of a chat service", "name one that [feedback] chat offers")
    return Prefs(letters, language, address, hints, plan, chat)


def text_of(prefs: Prefs) -> str:
    """The text of the file, with the keys that differ from the defaults."""
    defaults = asdict(Prefs())
    lines = []
    for key, value in asdict(prefs).items():
        if value != defaults[key]:
            lines.append(f"{key} = {str(value).lower()}" if isinstance(value, bool) else f'{key} = "{value}"')
    return "\n".join(["# Letters from adminkit; see adminkit feedback prefs --help", *lines, ""])


def write(folder: Path, uid: int, prefs: Prefs) -> Path:
    """Write that user's file in one step; its path."""
    with suppress(FileNotFoundError):
        facts = folder.lstat()
        if stat.S_ISLNK(facts.st_mode) and facts.st_uid not in (0, uid):
            raise AdminkitError(
                f"{folder} is a symbolic link of uid {facts.st_uid}, not a folder", "tell the operators"
            )
    path = folder / f"{uid}.toml"
    try:
        with folder_to_write(folder) as handle:
            replace_file(handle, path.name, text_of(prefs).encode(), mode=0o644)
    except FileNotFoundError as error:
        raise AdminkitError(f"there is no folder {folder}", "ask the operators to switch feedback on") from error
    except OSError as error:
        hint = "tell the operators"
        with suppress(OSError):
            if path.lstat().st_uid != uid:
                hint = "somebody else's file has that name; it is removed when letters are next sent: try again then"
        raise AdminkitError(f"couldn't write {path}: {cause(error)}", hint) from error
    return path


def everybody(folder: Path) -> Iterator[tuple[int, Read]]:
    """(uid, choices) of every file in the folder, by uid. Only the folder's owner can list it."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise AdminkitError(f"couldn't list {folder}: {cause(error)}", "run it as the folder's owner") from error
    for uid in sorted(int(match[1]) for name in names if (match := FILE.fullmatch(name))):
        yield uid, read(folder, uid)


def without_hints(folder: Path, trace: Path | None = None) -> set[int]:
    """The uids of users who want no hints at submission."""
    check_folder(folder, trace)
    return {uid for uid, one in everybody(folder) if not one.prefs.hints}


def without_plan(folder: Path, trace: Path | None = None) -> set[int]:
    """The uids of users whose jobs are to be planned by their limits."""
    check_folder(folder, trace)
    return {uid for uid, one in everybody(folder) if not one.prefs.plan}
