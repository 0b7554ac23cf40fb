"""Where `adminkit serve` listens, and the token of its TCP port.

Trap: uvicorn's own option for a socket makes it 0666, and does so after it listens.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from adminkit.errors import AdminkitError, cause

#: Where the unit has it.
SYSTEM_SOCKET: Final = Path("/run/adminkit-serve/adminkit.sock")
#: Bytes that answers may take, all together: half of what the unit has.
MORE_MEMORY: Final = 512 << 20
#: Bytes of a temporary file.
LARGEST_FILE: Final = 1 << 30
_GROUP_READS: Final = 0o040
_FEWEST: Final = 16  # characters of a token
_MOST: Final = 4096
#: Longer ones do not fit into sockaddr_un.
_LONGEST_PATH: Final = 107


@contextmanager
def unix_socket(path: Path, trace: Path) -> Iterator[socket.socket]:
    """A bound socket that does not listen yet, gone from the folder at the end.

    Whoever may read `trace` may connect: its group, if its mode and this process's groups allow that, else the owner
    of the socket only. It is 0600 from the moment it is there, gets its group, then 0660; nobody can connect before it
    listens.
    """
    _refuse_open_folder(path)
    facts = trace.stat()
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind(one, path)
        ours = _identity(path)
        try:
            if facts.st_mode & _GROUP_READS:
                with suppress(PermissionError):  # somebody who is not a member of that group
                    if path.lstat().st_gid != facts.st_gid:  # in the unit it is, and chown(2) is not allowed
                        os.chown(path, -1, facts.st_gid)
                    path.chmod(0o660)
            yield one
        finally:
            with suppress(OSError):
                if _identity(path) == ours:
                    path.unlink()
    finally:
        one.close()


@contextmanager
def tcp_socket(port: int) -> Iterator[socket.socket]:
    """The same on loopback; port 0: one that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError as error:
            raise AdminkitError(f"couldn't use port {port}: {cause(error)}", "name another, or 0 for any") from error
        yield one


def bound_memory(more: int = MORE_MEMORY, file: int = LARGEST_FILE) -> None:
    """Let this process have `more` bytes more than now, and write no file that is larger: SQLite sorts in files. A
    SELECT that wants more is an error of its reader's, and the others are answered on.
    """
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[5])  # of data and stacks, which the limit counts
    most = pages * resource.getpagesize() + more
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    file = file if hard == resource.RLIM_INFINITY else min(file, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))


def run(application: Any, listening: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM."""
    import uvicorn

    from adminkit.integrations.datasette_connections import AT_A_TIME, WAITING, protocol

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listening.listen(WAITING)  # asyncio takes one number for both

    bound_memory()
    config = uvicorn.Config(
        application, log_level="warning", access_log=False, lifespan="on", ws="none", server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=5, http=protocol(), backlog=AT_A_TIME,
    )  # fmt: skip
    with suppress(KeyboardInterrupt):  # uvicorn ends, then sends itself the signal once more
        Server(config).run(sockets=[listening])


def token_of(file: Path | None) -> str:
    """The token in a file of mode 0600, which is made where there is none; a new one without a file."""
    if file is None:
        return secrets.token_urlsafe(32)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(file)
    except OSError as error:
        raise AdminkitError(f"couldn't write {file}: {cause(error)}", "name a file in a folder of yours") from error
    token = secrets.token_urlsafe(32)
    with os.fdopen(handle, "w") as out:
        out.write(f"{token}\n")
    return token


def _read(file: Path) -> str:
    hint = f"move it away, and it is made again: mv {file} {file}.old"
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, encoding="utf-8") as text:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
                mode = stat.S_IMODE(facts.st_mode)
                raise AdminkitError(
                    f"{file} is not secret: it has mode {mode:04o}, and belongs to uid {facts.st_uid}", hint
                )
            token = text.read(_MOST).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = cause(error) if isinstance(error, OSError) else "it is not text"
        raise AdminkitError(f"couldn't read {file}: {why}", hint) from error
    if len(token) < _FEWEST or not token.isascii() or not token.isprintable() or " " in token:
        raise AdminkitError(f"{file} has no token of {_FEWEST} characters or more on one line", hint)
    return token


def _refuse_open_folder(path: Path) -> None:
    """Where others may rename what is in a folder, they could put their own socket in the place of this one."""
    try:
        facts = path.parent.stat()
    except OSError as error:
        raise AdminkitError(
            f"couldn't make a socket in {path.parent}: {cause(error)}",
            "adminkit-serve.service makes its folder; else name a place of yours with --socket",
        ) from error
    sticky = facts.st_mode & stat.S_ISVTX
    if facts.st_uid not in (0, os.geteuid()) or (facts.st_mode & 0o022 and not sticky):
        raise AdminkitError(f"other users can put a socket into {path.parent}", "name a folder that only you can write")


def _bind(one: socket.socket, path: Path) -> None:
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise AdminkitError(
            f"{path} is longer than a socket's path may be", f"choose a path of at most {_LONGEST_PATH} bytes"
        )
    _remove_dead(path)
    before = os.umask(0o177)
    try:
        one.bind(str(path))
    except OSError as error:
        raise AdminkitError(f"couldn't make {path}: {cause(error)}", "choose another path with --socket") from error
    finally:
        os.umask(before)


def _remove_dead(path: Path) -> None:
    """A socket of this user's that nobody listens on, as a killed server leaves it. AdminkitError for anything else."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(facts.st_mode) or facts.st_uid != os.geteuid():
        raise AdminkitError(f"{path} already exists, and is not a socket of this user", "name another with --socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                path.unlink()
                return
    raise AdminkitError(f"another server listens on {path}", "end it, or choose another path with --socket")


def _identity(path: Path) -> tuple[int, int]:
    facts = path.lstat()
    return facts.st_dev, facts.st_ino
