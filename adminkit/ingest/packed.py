"""A file to import as a stream of bytes, packed or plain, or standard input."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from adminkit.errors import AdminkitError, UsageError, cause
from adminkit.files import NotPlain, open_named

#: How the name of a packed file ends.
PACKED: Final = (".gz", ".bz2", ".xz")
_WITH_OTHERS: Final = {".zst": "zstd -dc", ".lz4": "lz4 -dc", ".zip": "unzip -p", ".7z": "7z x -so"}


@contextmanager
def open_source(path: Path | None) -> Iterator[IO[bytes]]:
    """A file, unpacked when its name ends in one of PACKED; standard input for None. Unbuffered where it can be."""
    with open_packed(path) as (stream, _):
        yield stream


def _opened(path: Path) -> IO[bytes]:
    try:
        return open_named(path)
    except NotPlain as error:
        raise AdminkitError(error.message, f"cat {path} | adminkit import -") from error
    except OSError as error:
        raise AdminkitError(f"couldn't open {path}: {cause(error)}", "check the path") from error


@contextmanager
def open_packed(path: Path | None) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Like open_source; the second stream is of the bytes as they are on disk, where they tell how far it is."""
    import bz2
    import gzip
    import lzma

    suffix = path.suffix if path else ""
    if suffix in _WITH_OTHERS:
        raise UsageError(
            f"{path} is compressed in a way that adminkit cannot read",
            f"{_WITH_OTHERS[suffix]} {path} | adminkit import -",
        )
    try:
        if path is None:
            with os.fdopen(os.dup(0), "rb", buffering=0) as stdin:
                yield stdin, stdin
            return
        with _opened(path) as plain:
            if suffix not in PACKED:
                with os.fdopen(os.dup(plain.fileno()), "rb", buffering=0) as raw:
                    yield raw, raw
                return
            unpack: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[suffix]
            with unpack(plain, "rb") as packed:
                yield packed, plain
    except (gzip.BadGzipFile, lzma.LZMAError) as error:
        hint = f"fetch the file again; rename it without {suffix} if it is plain text"
        raise AdminkitError(f"{path} is damaged, or not packed: {error}", hint) from error
    except (EOFError, zlib.error) as error:
        raise AdminkitError(f"{path} is damaged: {error}", "nothing was written; fetch the file again") from error
    except OSError as error:  # bz2 has no error of its own
        if error.errno is not None:
            raise
        raise AdminkitError(f"{path} is damaged, or not packed: {error}", "fetch the file again") from error
