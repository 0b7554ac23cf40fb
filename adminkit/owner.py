"""Root does not trust a folder of another user: it opens files there as that user.

    with as_owner(path): …        # root, on somebody else's file: as who owns it; everybody else: as they are
        with as_caller(): …       # and for a moment as who typed the command: an --output, a file to import

Modules that are imported meanwhile, the helper and data files are still opened as root: they may be where no other user
may enter (a virtual environment below /root).

In such a folder any file may become a link at any moment. Only effective ids change, so that root can act as root
afterwards; programs that are started meanwhile have all ids of that user (`of_children`).
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict, TypeVar

from adminkit.errors import AdminkitError, cause

T = TypeVar("T")


class Ids(TypedDict, total=False):
    """What subprocess.Popen takes to become that user."""

    user: int
    group: int


class Start(Ids, total=False):
    """What subprocess.Popen takes to start a program that is open."""

    executable: str
    pass_fds: Sequence[int]


def of_somebody_else(path: Path, itself: bool = True) -> os.stat_result | None:
    """The stat(2) of whoever can change what a path means; None where only root can.

    That is the owner of the folder; else of the file; else of the nearest folder above, whose owner may rename what is
    below. For a link both its owner and its target count. Without `itself` the owner of a file does not count,
    who can change what is in it and nothing else.
    """
    path = path.absolute()
    real = Path(os.path.realpath(path))
    files: tuple[Path, ...] = (path, real) if itself or path.is_symlink() else ()
    for place in (path.parent, real.parent, *files, *path.parents, *real.parents):
        for follow in (False, True):
            with suppress(OSError):
                facts = place.stat(follow_symlinks=follow)
                if facts.st_uid != 0:
                    return facts
    return None


@contextmanager
def as_owner(path: Path, itself: bool = True) -> Iterator[None]:
    """Act, as root, as the owner of the folder of `path`. Does nothing for other users, and for folders of root."""
    facts = of_somebody_else(path, itself) if os.geteuid() == 0 else None
    if facts is None:
        yield
        return
    before = os.getegid(), os.getgroups()
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    try:
        try:
            _become(facts)
        except OSError as error:
            raise AdminkitError(
                f"{path} belongs to uid {facts.st_uid}, whom root could not become: {cause(error)}",
                "run it as that user: runuser -u USER -- adminkit …",
            ) from error
        yield
    finally:
        os.seteuid(0)
        os.setegid(before[0])
        os.setgroups(before[1])


def of_its_owner(act: Callable[[Path], T]) -> Callable[[Path], T]:
    """Make a function of a path run `as_owner` of it."""

    @wraps(act)
    def done(path: Path) -> T:
        with as_owner(path):
            return act(path)

    return done


@contextmanager
def as_caller() -> Iterator[None]:
    """Within as_owner: as root again, for a file that root named and that is not in that folder."""
    if not is_root_as_owner():
        yield
        return
    uid, gid, groups = os.geteuid(), os.getegid(), os.getgroups()
    os.seteuid(0)
    try:
        os.setegid(0)
        os.setgroups(_root_groups())
        yield
    finally:
        os.setgroups(groups)
        os.setegid(gid)
        os.seteuid(uid)


def is_root_as_owner() -> bool:
    """Whether root acts as somebody else for now."""
    return os.geteuid() != 0 and os.getresuid() == (0, os.geteuid(), 0)


def of_children() -> Ids:
    """Popen's user and group for a program of the user whom root acts as; without them its real uid would be root's."""
    if not is_root_as_owner():
        return {}
    return {"user": os.geteuid(), "group": os.getegid()}


@contextmanager
def of_own_child(program: str) -> Iterator[Start]:
    """Like of_children, for adminkit's own programs, which may be where that user may not enter."""
    if not is_root_as_owner():
        yield {}
        return
    with as_caller():
        handle = os.open(program, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield {**of_children(), "executable": f"/proc/self/fd/{handle}", "pass_fds": (handle,)}
    finally:
        os.close(handle)


class _Finder(MetaPathFinder):
    """Finds and loads modules as root while root acts as somebody else: those that root itself would import."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not is_root_as_owner():
            return None
        with as_caller():
            others = (finder for finder in sys.meta_path if finder is not self)
            spec = next((found for one in others if (found := one.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Runs another loader as root."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        with as_caller():
            return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with as_caller():
            self._own.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def _become(facts: os.stat_result) -> None:
    """Set effective ids to that user and its login groups; for a uid without a name, to the folder's group."""
    try:
        who = pwd.getpwuid(facts.st_uid)
        gid, groups = who.pw_gid, os.getgrouplist(who.pw_name, who.pw_gid)
    except KeyError:
        gid, groups = facts.st_gid, [facts.st_gid]
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(facts.st_uid)


def _root_groups() -> list[int]:
    try:
        return os.getgrouplist("root", 0)
    except KeyError:
        return [0]
