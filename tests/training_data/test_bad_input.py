"""What cannot be packed, read or unpacked: one sentence, what to do, and nothing half-written under a final name."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from adminkit.cli.main import main
from adminkit.data.index import open_index
from adminkit.data.pack import header
from tests.support.others import OWNER
from tests.training_data.trees import found, make, pack, some

SHA: Final = hashlib.sha256(b"x").hexdigest()


def sock(path: Path) -> None:
    folder = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as one:  # its whole path is longer than an address may be
        one.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def nine_gigabytes(path: Path) -> None:
    path.touch()
    os.truncate(path, 9 << 30)


#: What is in SRC beside two plain files -> words of the error.
SOURCES: Final[list[tuple[Callable[[Path], object], str]]] = [
    (lambda src: (src / "a\nb.jpg").touch(), "has a newline in its name"),
    (lambda src: os.close(os.open(bytes(src) + b"/\xff.jpg", os.O_CREAT)), "has a name that is not UTF-8"),
    (lambda src: (src / ("x" * 101)).touch(), "has a name that is too long"),
    (lambda src: make(src, {f"{'f' * 200}/x.jpg": b""}), "has a name that is too long"),
    (lambda src: make(src, {"a/1.jpg": b"", "a/1.JPG": b""}), "are two samples of one key"),
    (lambda src: sock(src / "socket"), "is a socket, and shards have plain files and links only"),
    (lambda src: os.mkfifo(src / "pipe"), "is a pipe, and shards have plain files and links only"),
    (lambda src: nine_gigabytes(src / "large.bin"), "has 9663676416 bytes, and USTAR has room for 8589934591"),
    (lambda src: (src / "link").symlink_to("y" * 101), "has more than 100 bytes, or a newline"),
    (lambda src: (src / "link").symlink_to("y\ny"), "has more than 100 bytes, or a newline"),
    (lambda src: (src / "link").symlink_to(os.fsdecode(b"\xff")), "is not UTF-8"),
    (lambda src: [(src / f"2026.{number:05}.jpg").touch() for number in range(10_001)], "are one sample"),
]


def told(*words: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and the error; there are one sentence and one hint."""
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: "), (out, err)
    return code, lines[0]


def is_clean(place: Path, *expected: str) -> None:
    """No name that a reader would take for a data set, and no folder that is being made."""
    there = {path.name for path in place.iterdir()}
    assert there - {"out"} == set(expected)
    assert not (place / "out/index.tsv").exists()
    assert not list(place.glob("out/.adminkit-pack/*.aside"))


@pytest.mark.parametrize(("spoil", "words"), SOURCES, ids=[words for _, words in SOURCES])
def test_what_a_shard_cannot_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], object], words: str
) -> None:
    source = make(tmp_path / "in", {"a/0.jpg": b"0", "b/0.jpg": b"1"})
    spoil(source)
    code, error = told("data", "pack", source, tmp_path / "out", capsys=capsys)
    assert code == 1 and words in error
    is_clean(tmp_path, "in")


@pytest.mark.parametrize(
    ("make_out", "out", "words"),
    [
        (lambda place: None, "in/out", "is inside"),
        (lambda place: None, "in", "is inside"),
        (lambda place: (place / "link").symlink_to("in"), "link/out", "is inside"),
        (lambda place: make(place / "full", {"x": b""}), "full", "is not empty"),
        (lambda place: (place / "file").touch(), "file", "not a directory"),
        (lambda place: None, "none/out", "no such file or directory"),
        (lambda place: make(place / "old", {".adminkit-pack/plan.json": b"{", "y": b""}), "old", "has 'y' beside"),
        (lambda place: make(place / "old", {".adminkit-pack/plan.json": b"{"}), "old", "was begun in"),
        (lambda place: make(place / "old", {".adminkit-pack/plan.json": b'{"seed": 3}'}), "old", "and seed"),
    ],
)
def test_where_it_cannot_be_packed_to_is_refused_and_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make_out: Callable[[Path], object], out: str, words: str
) -> None:
    source = make(tmp_path / "in", some(3))
    make_out(tmp_path)
    before = found(tmp_path)
    code, error = told("data", "pack", source, tmp_path / out, capsys=capsys)
    assert code == 1 and words in error
    assert found(tmp_path) == before


@pytest.mark.parametrize(
    ("source", "words"), [("none", "is not a folder"), ("file", "is not a folder"), ("empty", "has no files")]
)
def test_a_source_without_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, words: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty/folder").mkdir(parents=True)
    code, error = told("data", "pack", tmp_path / source, tmp_path / "out", capsys=capsys)
    assert code == 1 and words in error
    is_clean(tmp_path, "file", "empty")


def test_an_empty_folder_is_left_out_and_said_so_and_a_link_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "other", {"secret.jpg": b"secret"})
    source = make(tmp_path / "in", {"a.jpg": b"", "to": tmp_path / "other", "b": b"x"})
    (source / "hollow").mkdir()
    assert main(["data", "pack", str(source), str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert "packed 3 files into 1 shard" in out
    assert "1 empty folder left out, such as" in err and "hollow" in err
    assert "2 files without an ending" in err
    assert b"secret" not in (tmp_path / "out/000000.tar").read_bytes().replace(b"secret.jpg", b"")


@pytest.mark.parametrize("size", [100, 3 << 20], ids=["a short one", "a long one"])
@pytest.mark.parametrize("change", ["grows", "shrinks", "is gone"])
def test_a_file_that_changes_while_it_is_read_is_not_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, size: int, change: str
) -> None:
    source = make(tmp_path / "in", {"a.jpg": b"x" * size})
    read = os.read
    file = source / "a.jpg"

    def changing(handle: int, most: int) -> bytes:
        if most > 50 and file.exists() and file.stat().st_size == size:
            os.truncate(file, size + 5 if change == "grows" else 7)
        return read(handle, most)

    if change == "is gone":
        opened = os.open

        def gone(path: str | bytes, *args: int, **words: int) -> int:
            if path == b"a.jpg":
                file.unlink(missing_ok=True)
            return opened(path, *args, **words)

        monkeypatch.setattr(os, "open", gone)
    else:
        monkeypatch.setattr(os, "read", changing)
    code, error = told("data", "pack", source, tmp_path / "out", capsys=capsys)
    assert code == 1
    assert "is gone" in error if change == "is gone" else "changed while it was read" in error
    is_clean(tmp_path, "in")


def lines(*body: str, shards: str = "000000.tar\t2048\t1", version: str = "1") -> bytes:
    """An index with a right digest."""
    text = f"adminkit-data\t{version}\nseed\t0\norder\tshuffled\nshards\t1\nshard\t{shards}\t{SHA}\n"
    text += "".join(f"{line}\n" for line in body)
    return f"{text}end\t{hashlib.sha256(text.encode()).hexdigest()}\n".encode()


GOOD: Final = f"file\ta.jpg\t000000.tar\t512\t1\t\t{SHA}"
#: An index -> words of the error.
INDEXES: Final[list[tuple[bytes, str]]] = [
    (lines(GOOD)[:-1], "is cut short"),
    (lines(GOOD)[:-80], "is cut short"),
    (b"", "is not an index of adminkit"),
    (b"adminkit-data\t1\n", "is cut short"),
    (b"\x00" * 4096, "is not an index of adminkit"),
    (lines(GOOD, version="2"), "has version 2, and this release reads version 1"),
    (lines(GOOD).replace(b"a.jpg", b"b.jpg"), "was changed after it was written"),
    (lines(GOOD.replace("a.jpg", "../a.jpg")), "leads out of the data set"),
    (lines(GOOD.replace("a.jpg", "/etc/a.jpg")), "leads out of the data set"),
    (lines(GOOD.replace("a.jpg", "a/./b")), "leads out of the data set"),
    (lines(GOOD.replace("a.jpg", "a\\x00b")), "leads out of the data set"),
    (lines(GOOD.replace("a.jpg", "x" * 300)), "leads out of the data set"),
    (lines(GOOD.replace("a.jpg", "a\\q")), "has an escape that adminkit does not write"),
    (lines(GOOD.replace("a.jpg", "a\\Uffffffff")), "has an escape that adminkit does not write"),
    (lines(GOOD.replace("a.jpg", "a\\ud800")), "has an escape that adminkit does not write"),
    (lines(GOOD.replace("512", "-512")), "-512 is not a number of 0 or more"),
    (lines(GOOD.replace("\t1\t", "\t-1\t")), "-1 is not a number of 0 or more"),
    (lines(GOOD.replace("512", "9" * 40)), "is not a number of 0 or more"),
    (lines(GOOD.replace("512", "0")), "overlaps what lies before it"),
    (lines(GOOD.replace("512", "513")), "overlaps what lies before it"),
    (lines(GOOD, GOOD.replace("a.", "b.")), "overlaps what lies before it"),
    (lines(GOOD.replace("\t1\t", "\t4096\t")), "reaches past the end of 000000.tar"),
    (lines(GOOD.replace("000000", "000001")), "is not a shard of this data set"),
    (lines(GOOD, shards="../000000.tar\t2048\t1"), "is not the name of a shard"),
    (lines(GOOD, shards="000000.tar\t2048\t2"), "it has fewer files than its shards"),
    (lines(GOOD, shards="000000.tar\t2048\t0"), "has no files"),
    (lines("link\ta\t000000.tar\t512\t"), "it is a link to nothing"),
    (lines(GOOD + "\tmore"), "it is not a line of a file"),
    (lines(GOOD.replace(SHA, "0")), "it has no SHA-256"),
    (lines(GOOD.replace("a.jpg", "x" * 70_000)), "it is cut short or too long"),
]


@pytest.mark.parametrize(("index", "words"), INDEXES, ids=range(len(INDEXES)))
@pytest.mark.parametrize("command", ["verify", "ls --by file", "unpack"])
def test_an_index_that_is_wrong_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, index: bytes, words: str
) -> None:
    make(tmp_path / "set", {"index.tsv": index, "000000.tar": bytes(2048)})
    more = [tmp_path / "out"] if command == "unpack" else []
    code, error = told("data", *command.split(), tmp_path / "set", *more, capsys=capsys)
    assert code == 1 and words in error
    is_clean(tmp_path, "set")


@pytest.mark.parametrize("command", ["verify", "ls", "unpack"])
def test_a_folder_without_an_index_is_to_be_packed_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    make(tmp_path / "set", {"a.jpg": b""})
    more = [tmp_path / "out"] if command == "unpack" else []
    assert main(["data", command, str(tmp_path / "set"), *map(str, more)]) == 1
    assert f"hint: pack it first: adminkit data pack {tmp_path}/set" in capsys.readouterr().err


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 2000)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    with open_index(path.parent) as index:
        place = next(entry.offset for entry in index.entries() if entry.length)
    data[place] ^= 1
    path.write_bytes(data)


def flip_header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)


def swap(path: Path) -> None:
    other = path.with_name("000001.tar")
    path.rename(path.with_name("x"))
    other.rename(path)
    path.with_name("x").rename(other)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("000001.tar")


#: How a shard is spoiled -> what verify says, and whether unpack ends with an error.
SHARDS: Final[list[tuple[Callable[[Path], object], str, bool]]] = [
    (cut, "is cut short", True),
    (flip, "has other bytes than when it was packed", True),
    (flip_header, "has a header with another name or length", False),
    (swap, "has other bytes than when it was packed", True),
    (Path.unlink, "is missing", True),
    (link, "is a symbolic link, not a plain file", True),
    (lambda path: path.write_bytes(path.read_bytes() + b"x"), "bytes, not", False),
]


@pytest.mark.parametrize(("spoil", "words", "ends"), SHARDS, ids=[words for _, words, _ in SHARDS])
def test_a_shard_that_is_wrong_is_found_and_not_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], object], words: str, ends: bool
) -> None:
    pack(make(tmp_path / "in", some()), tmp_path / "set")
    assert main(["data", "verify", str(tmp_path / "set")]) == 0
    assert "are as they were packed" in capsys.readouterr().out
    spoil(tmp_path / "set/000000.tar")
    assert main(["data", "verify", str(tmp_path / "set"), "-f", "json"]) == 1
    out = capsys.readouterr().out
    assert words in out and "000000.tar" in out
    assert ("000002.tar" in out) is False, "only what is wrong is named"
    if ends:
        told("data", "unpack", tmp_path / "set", tmp_path / "out", capsys=capsys)
        assert not (tmp_path / "out").exists()
    is_clean(tmp_path, "in", "set")


def forged(place: Path, files: list[tuple[str, bytes | None, str]]) -> Path:
    """A data set whose digests are right: (name, content, what it leads to)."""
    shard, body = b"", []
    for name, content, target in files:
        data = content or b""
        shard += header(name.encode(), len(data), target.encode() if content is None else None)
        if content is None:
            body.append(f"link\t{name}\t000000.tar\t{len(shard)}\t{target}")
        else:
            body.append(f"file\t{name}\t000000.tar\t{len(shard)}\t{len(data)}\t\t{hashlib.sha256(data).hexdigest()}")
        shard += data + bytes(-len(data) % 512)
    shard += bytes(1024)
    return make(
        place, {"000000.tar": shard, "index.tsv": lines(*body, shards=f"000000.tar\t{len(shard)}\t{len(files)}")}
    )


@pytest.mark.parametrize(
    "files",
    [
        [("a", None, "{outside}"), ("a/stolen", b"x", "")],
        [("a/stolen", b"x", ""), ("a", None, "{outside}")],
        [("a", None, "{outside}"), ("a/b", None, "/etc/passwd")],
        [("a", None, "{outside}/stolen"), ("a", b"x", "")],
        [("a", b"x", ""), ("a", b"y", "")],
    ],
)
def test_no_link_of_a_data_set_leads_what_is_unpacked_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: list[tuple[str, bytes | None, str]]
) -> None:
    (outside := tmp_path / "outside").mkdir()
    filled = [(name, content, target.format(outside=outside)) for name, content, target in files]
    forged(tmp_path / "set", filled)
    told("data", "unpack", tmp_path / "set", tmp_path / "out", capsys=capsys)
    assert list(outside.iterdir()) == []
    is_clean(tmp_path, "set", "outside")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"a/0.jpg,cat\na/0.jpg,dog\n", "gives a name two classes"),
        (b"a/0.jpg,cat,dog\n", "line 1 of"),
        (b'name,class\n"a/0.jpg\n', "line 2 of"),
        (b"\xff,cat\n", "couldn't use line"),
        (b",cat\n", "it is not a name and a class"),
        (b"a/0.jpg," + b"c" * 256 + b"\n", "its class has more than 255 characters"),
        (b"a/0.jpg," + b"c" * 200_000 + b"\n", "couldn't use line 1"),
    ],
)
def test_labels_that_are_wrong_are_refused_before_anything_is_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes, words: str
) -> None:
    (tmp_path / "labels.csv").write_bytes(text)
    source = make(tmp_path / "in", {"a/0.jpg": b""})
    code, error = told("data", "pack", source, tmp_path / "out", "--labels", tmp_path / "labels.csv", capsys=capsys)
    assert code == 1 and words in error
    is_clean(tmp_path, "in", "labels.csv")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away")
@pytest.mark.parametrize("theirs", ["in", "in/a", "parent"])
def test_root_uses_no_folder_that_another_user_can_change_meanwhile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], theirs: str
) -> None:
    source = make(tmp_path / "in", {"a/0.jpg": b""})
    (tmp_path / "parent").mkdir()
    os.chown(tmp_path / theirs, OWNER, -1)
    _, error = told("data", "pack", source, tmp_path / "parent/out", capsys=capsys)
    assert f"uid {OWNER} can change what is in" in error
    assert list((tmp_path / "parent").iterdir()) == []


def test_a_keyed_order_is_said_with_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = make(tmp_path / "in", some(3))
    assert main(["data", "pack", str(source), str(tmp_path / "out"), "--keep-order"]) == 0
    assert "87 points of accuracy less" in capsys.readouterr().err
    assert main(["data", "pack", str(source), str(tmp_path / "b"), "--keep-order", "--seed", "1"]) == 2
