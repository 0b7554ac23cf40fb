"""adminkit without its start: every command is a child of a process that has imported it all.

A start costs a third of a second of a processor, most commands of these tests another one or less. The child has its
own environment, folder, user and files, and ends as any process does. What Python takes from its environment at its
start is what the parent had: a command with other words of that kind is started as any program (`is_cold`).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

from tests.cluster.harness.machine import plain_env

ADMINKIT: Final = Path(sys.executable).with_name("adminkit")
#: An environment's names that Python, the loader or the C library read at the start of a process.
_EARLY: Final = ("LC_", "LANG", "LD_", "PYTHON", "TZ", "LOCPATH", "ASAN_", "MALLOC_")
#: The most that a request is long.
_LONGEST: Final = 1 << 20


def run(
    words: Sequence[str | Path], env: Mapping[str, str], user: str | None = None, seconds: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """`adminkit WORDS` in the current folder, as subprocess.run(…, text=True); `user` has no group of root's."""
    command = [str(ADMINKIT), *map(str, words)]
    if is_cold(env):
        assert user is None
        return subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=seconds, check=False)
    asked = {"command": command, "env": dict(env), "user": user, "cwd": str(Path.cwd())}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        code = _server().ask(json.dumps(asked).encode(), out.fileno(), err.fileno(), seconds)
        if code is None:
            raise subprocess.TimeoutExpired(command, seconds)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


def is_cold(env: Mapping[str, str]) -> bool:
    """Whether a command in this environment has to be started as a program."""
    usual = plain_env()
    return any(env.get(name) != usual.get(name) for name in {*env, *usual} if name.startswith(_EARLY))


class _Server:
    """The parent of the commands. It ends when this process does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.harness.warm", str(its.fileno())],
                cwd=Path(__file__).resolve().parents[3], env=plain_env(), pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def ask(self, request: bytes, out: int, err: int, seconds: float) -> int | None:
        """The exit code; None where the command did not end, and was killed."""
        mine, its = socket.socketpair()
        with mine:
            with its, self._lock:
                socket.send_fds(self._socket, [request], [out, err, its.fileno()])
            mine.settimeout(seconds)
            pid = int(mine.recv(64))
            mine.send(b"go")
            try:
                return int(mine.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                return None


@cache
def _server() -> _Server:
    return _Server()


# the other side


def serve(listening: socket.socket) -> None:
    """Answer requests until nobody is left to ask; returns in the child that is to be the command, after `_become`."""
    while True:
        request, files, _, _ = socket.recv_fds(listening, _LONGEST, 3)
        if not request:
            os._exit(0)
        _reap()
        if os.fork() == 0:
            listening.close()
            if _keep(files[2]):
                _become(json.loads(request), files)
                return
        for file in files:
            os.close(file)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _keep(reply: int) -> bool:
    """True in the command; its keeper says its pid, and then its exit code."""
    command = os.fork()
    if command == 0:
        return True
    os.write(reply, str(command).encode())
    os.read(reply, 2)
    status = os.waitpid(command, 0)[1]
    os.write(reply, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(asked: dict[str, object], files: list[int]) -> None:
    """Take on the environment, the folder, the files and the user of the command."""
    for number, file in enumerate(files[:2], 1):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["env"])  # type: ignore[call-overload]
    os.chdir(str(asked["cwd"]))
    sys.argv = asked["command"]  # type: ignore[assignment]
    if asked["user"]:
        who = pwd.getpwnam(str(asked["user"]))
        os.setgroups([])
        os.setresgid(who.pw_gid, who.pw_gid, who.pw_gid)
        os.setresuid(who.pw_uid, who.pw_uid, who.pw_uid)


def _import_all() -> None:
    import adminkit

    for module in pkgutil.walk_packages(adminkit.__path__, "adminkit."):
        if not module.name.endswith("__main__") and ".jupyter" not in module.name:
            importlib.import_module(module.name)
    gc.freeze()


def _main(file: int) -> NoReturn:
    from adminkit.cli.main import main

    _import_all()
    serve(socket.socket(fileno=file))
    _end(main)


def _end(main: Callable[[], int]) -> NoReturn:
    """As sys.exit(main()), but that nothing is cleared away in memory, which is a tenth of a second's work."""
    code = 1
    try:
        code = main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            sys.stderr.write(f"{error.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
