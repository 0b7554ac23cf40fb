"""Put a Lua table where slurmctld reads it. A reader finds a whole, checked table at any time.

The folder is that of job_submit.lua. A table NAME lives in adminkit/NAME.lua, beside it NAME.good.lua, the copy that
counts when the first is damaged, and NAME.previous.lua, the one before, for `rollback`. Files are written aside,
synced and renamed, so a crash at any point leaves each of them whole, the old or the new.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adminkit.errors import AdminkitError, cause
from adminkit.files import ASIDE, open_folder, read_plain, replace_file
from adminkit.lua.literal import MOST_BYTES

#: What may be put, in the order in which it is written.
TABLES: Final = ("policy", "incentives", "hints", "soft_limits")
#: Below the folder of job_submit.lua.
SUBFOLDER: Final = "adminkit"
#: The checksums of what was installed, as sha256sum writes and checks them; below the folder of job_submit.lua.
SUMS: Final = f"{SUBFOLDER}/SHA256SUMS"
FILE_MODE: Final = 0o640
FOLDER_MODE: Final = 0o750

#: Raises AdminkitError when the text of the table `name` is not what slurmctld could use: check(name, text).
Check = Callable[[str, str], None]

_SUM: Final = re.compile(r"^\\?([0-9a-f]{64}) [ *](.+)$", re.MULTILINE)
_GENERATION: Final = re.compile(r'^ *(?:\["generation"\]|generation) *= *"([0-9a-zA-Z_.-]{1,64})"', re.MULTILINE)
#: What differs when the same content is made twice: our comment and the time.
_MADE: Final = re.compile(r'^--.*$|^ *(?:\["made_at"\]|made_at) *= *[0-9]+,?$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Put:
    """One table that was put. A generation is None for a missing table and for one that names none."""

    name: str
    generation: str | None
    before: str | None
    changed: bool


def table_path(folder: Path, name: str, kind: str = "") -> Path:
    """The file of a table; `kind` is "", good or previous."""
    return folder / SUBFOLDER / (f"{name}.{kind}.lua" if kind else f"{name}.lua")


def generation_of(text: str) -> str | None:
    """The generation a generated table says it is; None where it says none. Needs no Lua."""
    match = _GENERATION.search(text)
    return match.group(1) if match else None


def read_text(path: Path) -> str | None:
    """A plain file's text; None for a missing file. AdminkitError for one that cannot be read or is not plain."""
    try:
        return read_plain(path, MOST_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AdminkitError(f"couldn't read {path}: {cause(error)}", "run it as root on the slurmctld host") from error


def usable(name: str, text: str | None, check: Check) -> bool:
    """Whether there is such a table and slurmctld could use it."""
    if text is None:
        return False
    try:
        check(name, text)
    except AdminkitError:
        return False
    return True


def same_content(one: str | None, other: str | None) -> bool:
    """Whether two texts are one table, whenever each was made."""
    if one is None or other is None:
        return one is other
    return _MADE.sub("", one) == _MADE.sub("", other)


def put_table(folder: Path, name: str, text: str, check: Check, group: int | None = None) -> Put:
    """Put `text` in place as the table `name`, keep what counted until now as its previous one.

    `group` is the group that slurmctld runs as; None leaves it. A text that `check` refuses changes nothing. The same
    content again only repairs a copy that is missing or damaged: what `rollback` would bring back stays.
    """
    check(name, text)
    with changing(folder, group):
        files = _Files(folder, name, check, group)
        files.counting()
        files.aim.unlink(missing_ok=True)  # a rollback that did not come to its end has now
        return files.put(text)


def put_back(folder: Path, name: str, check: Check, group: int | None = None) -> Put:
    """Put the previous table in place; what counted until now becomes the previous one."""
    path = table_path(folder, name, "previous")
    with changing(folder, group):
        files = _Files(folder, name, check, group)
        if files.going_back():
            files.counting()
            return files.gone_back()
        files.counting()  # an install that did not come to its end comes to it first
        text = files.read("previous")
        if text is None:
            raise AdminkitError(
                f"{path.parent} has no {path.name} to roll back to",
                "only the install before the current one is kept; install the older file again",
            )
        check(name, text)
        put_file(files.aim, text, group)
        files.put(text)
        return files.gone_back()


@dataclass(frozen=True, slots=True)
class _Files:
    """The three files of one table, while nobody else changes them.

    Trap: each text that may be needed again has to be in one of them at any time. The good copy holds the old one
    until the new one is in place, so a good copy that differs from the table is a change that did not come to its end.
    An install and a rollback that stopped there look alike; a rollback therefore leaves its aim in a file of its own.
    """

    folder: Path
    name: str
    check: Check
    group: int | None

    @property
    def aim(self) -> Path:
        return table_path(self.folder, self.name).with_name(f".back-{self.name}")

    def going_back(self) -> bool:
        """Whether a rollback has put its table in place and not come to its end."""
        text = read_text(self.aim)
        return text is not None and same_content(text, self.read(""))

    def gone_back(self) -> Put:
        """The end of a rollback."""
        current, before = self.read(""), self.read("previous")
        self.aim.unlink(missing_ok=True)
        return Put(self.name, generation_of(current or ""), generation_of(before or ""), True)

    def read(self, kind: str) -> str | None:
        return read_text(table_path(self.folder, self.name, kind))

    def write(self, kind: str, text: str) -> None:
        path = table_path(self.folder, self.name, kind)
        if self.read(kind) != text or not rights_hold(path, self.group):
            put_file(path, text, self.group)

    def put(self, text: str) -> Put:
        old = self.counting()
        if same_content(old, text):
            assert old is not None
            self.write("", old)
            self.write("good", old)
            return Put(self.name, generation_of(old), generation_of(old), False)
        if old is not None:
            self.write("good", old)
        self.write("", text)
        self.check(self.name, self.read("") or "")  # what is on the disk, not what was written
        if old is not None:
            self.write("previous", old)
        self.write("good", text)
        return Put(self.name, generation_of(text), None if old is None else generation_of(old), True)

    def counting(self) -> str | None:
        """The text slurmctld goes by, None for none, with an unfinished change brought to its end."""
        current, good = self.read(""), self.read("good")
        whole = usable(self.name, good, self.check)
        if not usable(self.name, current, self.check):
            return good if whole else None
        assert current is not None
        if good is not None and whole and not same_content(good, current):
            self.write("previous", good)
        self.write("good", current)
        return current


def put_file(path: Path, text: str | bytes, group: int | None = None, mode: int = FILE_MODE) -> None:
    """Replace a file whole, by a descriptor of its folder: whoever owns the one above may put a link in its place."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    folder = open_folder(path.parent, links=path.parent.name != SUBFOLDER)
    try:
        replace_file(folder, path.name, data, mode=mode, group=group)
    except OSError as error:
        raise AdminkitError(f"couldn't write {path}: {cause(error)}", "run it as root on the slurmctld host") from error
    finally:
        os.close(folder)


def rights_hold(path: Path, group: int | None) -> bool:
    """Whether a file has the mode and the group it was put with."""
    facts = path.lstat()
    return stat.S_IMODE(facts.st_mode) == FILE_MODE and group in (None, facts.st_gid)


@contextmanager
def changing(folder: Path, group: int | None = None) -> Iterator[None]:
    """Make the subfolder, keep everybody else out of it until done, and clear what a crash left."""
    inner = folder / SUBFOLDER
    if not folder.is_dir():
        raise AdminkitError(f"{folder} is not a folder", "name the folder of slurm.conf with --folder")
    try:
        inner.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        pass
    except OSError as error:
        raise AdminkitError(f"couldn't make {inner}: {cause(error)}", "run it as root on the slurmctld host") from error
    handle = open_folder(inner)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AdminkitError(
                f"somebody else is changing {inner}", "wait until that has ended, then try again"
            ) from None
        with suppress(PermissionError):
            os.fchmod(handle, FOLDER_MODE)
            if group is not None:
                os.fchown(handle, -1, group)
        for left in os.listdir(handle):  # noqa: PTH208 - of the descriptor, wherever the path leads
            if left.startswith(ASIDE):
                with suppress(FileNotFoundError):
                    os.unlink(left, dir_fd=handle)
        yield
    finally:
        os.close(handle)


def checksums(folder: Path) -> dict[str, str]:
    """sha256 of everything slurmctld would read: job_submit.lua, and *.lua in adminkit/ but the previous ones."""
    paths = [folder / "job_submit.lua", *sorted((folder / SUBFOLDER).glob("*.lua"))]
    sums = {}
    for path in paths:
        if path.name.endswith(".previous.lua") or not path.is_file():
            continue
        try:
            data = read_plain(path, MOST_BYTES, links=path.parent == folder)
            sums[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
        except OSError as error:
            raise AdminkitError(f"couldn't read {path}: {cause(error)}", "run it as root") from error
    return sums


def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """The files two hosts do not have alike, by name."""
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def parse_sums(text: str, folder: Path) -> dict[str, str]:
    """sha256sum's lines, of paths from the folder or absolute ones; previous tables do not count."""
    sums = {}
    for digest, name in _SUM.findall(text):
        path = name.removeprefix(f"{folder}/").removeprefix("./")
        if path.endswith(".lua") and not path.endswith(".previous.lua"):
            sums[path] = digest
    return sums


def write_sums(folder: Path, names: Iterable[str], group: int | None = None, drop: Iterable[str] = ()) -> None:
    """Write down what these files are now, for `sha256sum -c` and for doctor; the others stay as they were noted.

    `drop` are no longer ours to answer for.
    """
    known, now = noted(folder) or {}, checksums(folder)
    known.update({name: now[name] for name in names if name in now})
    text = "".join(f"{known[name]}  {name}\n" for name in sorted(known.keys() - set(drop)) if name in now)
    put_file(folder / SUMS, text, group)


def noted(folder: Path) -> dict[str, str] | None:
    """The checksums of what was installed; None where nothing was written down."""
    text = read_text(folder / SUMS)
    return None if text is None else parse_sums(text, folder)


def changed_since(folder: Path) -> list[str]:
    """The files that are no longer what was installed; empty where nothing was written down."""
    known, now = noted(folder) or {}, checksums(folder)
    return sorted(name for name, digest in known.items() if now.get(name) != digest)
