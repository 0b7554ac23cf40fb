"""A file system as a user may mount it: FUSE, whose server answers with whatever attributes it likes. Needs root.

The kernel's interface is that of linux/fuse.h. The server is this process's thread; it knows one folder of files.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _STATFS, _RELEASE, _FLUSH, _INIT, _OPENDIR, _RELEASEDIR = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29,
)  # fmt: skip
_INTERRUPT, _BATCH_FORGET, _ACCESS = 36, 42, 34
_ENOENT, _EINTR, _EAGAIN, _ENOSYS = 2, 4, 11, 38
_FOLDER, _FILE = 0o040755, 0o100644


def _attributes(node: int, size: int, like: os.stat_result | None) -> bytes:
    """struct fuse_attr: those of `like`, where there is one."""
    stamps_ns = (0, 0, 0) if like is None else (like.st_atime_ns, like.st_mtime_ns, like.st_ctime_ns)
    number = node if like is None else like.st_ino
    mode = _FOLDER if node == 1 else _FILE
    seconds, rest = [one // 10**9 for one in stamps_ns], [one % 10**9 for one in stamps_ns]
    return struct.pack("<6Q10I", number, size, 0, *seconds, *rest, mode, 1, 0, 0, 0, 4096, 0)


class _Server:
    def __init__(self, device: int, files: Mapping[str, tuple[bytes, os.stat_result | None]], span: float) -> None:
        self._device, self._files, self._span = device, dict(enumerate(files.items(), start=2)), span

    def _attr(self, node: int) -> bytes:
        content, like = (b"", None) if node == 1 else self._files[node][1]
        return _attributes(node, len(content), like)

    def _answer(self, code: int, node: int, body: bytes) -> bytes | int:
        if code == _INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 17, 0, 8, 8, 1 << 17, 1, 0, 0, *[0] * 8)
        if code == _LOOKUP:
            name = body.split(b"\0")[0].decode()
            found = next((number for number, (other, _) in self._files.items() if other == name), 0)
            return struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + self._attr(found) if found else -_ENOENT
        if code == _GETATTR:
            return struct.pack("<Q2I", 0, 0, 0) + self._attr(node)
        if code in (_OPEN, _OPENDIR):
            return struct.pack("<Q2I", 0, 0, 0)
        if code == _READ:
            _, offset, size, _, _, flags = struct.unpack_from("<QQIIQI", body)
            if self._span and flags & os.O_NONBLOCK:
                return -_EAGAIN
            return self._files[node][1][0][offset : offset + size]
        if code == _STATFS:
            return struct.pack("<5Q10I", 0, 0, 0, 0, 0, 4096, 255, 4096, *[0] * 7)
        return b"" if code in (_RELEASE, _RELEASEDIR, _FLUSH, _ACCESS) else -_ENOSYS

    def _is_interrupted(self, unique: int) -> bool:
        """Whether, within the span, a signal came to who waits for the answer. The kernel asks nothing else then."""
        if not select.select([self._device], [], [], self._span)[0]:
            return False
        request = os.read(self._device, 1 << 18)
        code = struct.unpack_from("<I", request, 4)[0]
        return code == _INTERRUPT and struct.unpack_from("<Q", request, 40)[0] == unique

    def run(self) -> None:
        while True:
            try:
                request = os.read(self._device, 1 << 18)
            except OSError:
                return  # it was unmounted
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            if code in (_FORGET, _BATCH_FORGET, _INTERRUPT):
                continue
            slow = self._span and code in (_OPEN, _READ)
            answer = -_EINTR if slow and self._is_interrupted(unique) else self._answer(code, node, request[40:])
            error, data = (answer, b"") if isinstance(answer, int) else (0, answer)
            os.write(self._device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


@contextmanager
def mounted_by(
    user: int, place: Path, files: Mapping[str, tuple[bytes, os.stat_result | None]], span: float = 0
) -> Iterator[None]:
    """The files, by name, at `place`, as if that user had mounted them with fusermount: of each the bytes, and the
    file whose attributes it pretends to have. `span`: s that each opening and reading takes, and fails where a signal
    comes meanwhile; who does not want to wait is told to come again."""
    place.mkdir()
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id={user},group_id=0,allow_other,default_permissions"
    if _LIBC.mount(b"forged", os.fsencode(place), b"fuse", 6, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    server = threading.Thread(target=_Server(device, files, span).run, daemon=True)
    server.start()
    try:
        yield
    finally:
        _LIBC.umount2(os.fsencode(place), 2)
        server.join(10)
        os.close(device)
