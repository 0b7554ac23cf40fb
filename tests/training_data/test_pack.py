"""A packed data set: the same bytes for the same files, whole samples, an index that tells where each file is."""

from __future__ import annotations

import hashlib
import os
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.cli.main import main
from adminkit.data.index import open_index
from adminkit.data.names import class_of, escaped, fits, key_of, unescaped
from adminkit.data.pack import header
from adminkit.data.unpack import unpack
from adminkit.data.verify import verify
from tests.support.crash import crash_at
from tests.training_data.trees import found, make, names, pack, some


def test_the_same_files_give_the_same_bytes_whatever_else_they_are(tmp_path: Path) -> None:
    """Made in another order, at another time, with another mode."""
    files = some()
    one = make(tmp_path / "one", files)
    other = make(tmp_path / "other", dict(reversed(files.items())))
    for path in other.rglob("*.jpg"):
        if not path.is_symlink():
            path.chmod(0o400)
            os.utime(path, (1, 1))
    pack(one, tmp_path / "a")
    pack(other, tmp_path / "b")
    assert found(tmp_path / "a") == found(tmp_path / "b")
    assert len(list((tmp_path / "a").glob("*.tar"))) > 3


def test_a_seed_is_an_order_and_keep_order_is_that_of_names(tmp_path: Path) -> None:
    source = make(tmp_path / "in", some())
    orders = {}
    for seed in (0, 1, 2, None):
        pack(source, tmp_path / f"out{seed}", seed)
        orders[seed] = names(tmp_path / f"out{seed}")
    assert orders[None] == sorted(orders[None])
    assert len({tuple(order) for order in orders.values()}) == 4
    assert len({tuple(sorted(order)) for order in orders.values()}) == 1
    classes = [class_of(name) for name in orders[0]]
    assert sum(one != other for one, other in pairwise(classes)) > 15, "classes are mixed"


def test_the_index_tells_where_the_bytes_of_a_file_are(tmp_path: Path) -> None:
    files = some()
    pack(make(tmp_path / "in", files), tmp_path / "out")
    with open_index(tmp_path / "out") as index:
        entries = list(index.entries())
        head = index.head
    assert {entry.name for entry in entries} == set(files)
    for entry in entries:
        data = (tmp_path / "out" / entry.shard).read_bytes()[entry.offset :][: entry.length]
        if entry.target is None:
            assert data == files[entry.name]
            assert entry.sha256 == hashlib.sha256(data).hexdigest()
            assert entry.label == entry.name.partition("/")[0]
        else:
            assert (entry.name, entry.target) == ("dog/link.jpg", "0000.jpg")
    for shard in head.shards:
        data = (tmp_path / "out" / shard.name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (shard.size, shard.sha256)


def test_a_sample_is_in_one_shard_and_its_files_lie_together(tmp_path: Path) -> None:
    pack(make(tmp_path / "in", some()), tmp_path / "out", seed=7)
    with open_index(tmp_path / "out") as index:
        entries = [(key_of(entry.name.encode()), entry.shard) for entry in index.entries()]
    seen: set[bytes] = set()
    for before, (key, shard) in zip([(b"", ""), *entries], entries, strict=False):
        assert (before == (key, shard)) == (key in seen), key
        seen.add(key)


def test_tar_reads_a_shard(tmp_path: Path) -> None:
    files = some()
    pack(make(tmp_path / "in", files), tmp_path / "out")
    read: dict[str, bytes | Path] = {}
    for path in sorted((tmp_path / "out").glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isreg() else None
                read[member.name] = file.read() if file else Path(member.linkname)
    assert read == files


def test_labels_are_by_path_or_by_key_and_what_is_not_there_is_unknown(tmp_path: Path) -> None:
    source = make(tmp_path / "in", {"a/1.jpg": b"1", "a/2.jpg": b"2", "3.jpg": b"3"})
    (tmp_path / "labels.csv").write_text('name,class\na/1.jpg,"a, cat"\na/2,dog\n')
    packed = pack(source, tmp_path / "out", labels=tmp_path / "labels.csv")
    with open_index(tmp_path / "out") as index:
        assert {entry.name: entry.label for entry in index.entries()} == {
            "a/1.jpg": "a, cat",
            "a/2.jpg": "dog",
            "3.jpg": "",
        }
    assert packed.unlabelled == 1


def test_what_is_unpacked_is_what_was_packed(tmp_path: Path) -> None:
    source = make(tmp_path / "in", some())
    pack(source, tmp_path / "out")
    with open_index(tmp_path / "out") as index:
        assert verify(index, lambda done, total: None) == []
        unpack(index, tmp_path / "again", lambda done, total: None)
    assert found(tmp_path / "again") == found(source)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "in", "out"]


PART = st.text(st.characters(codec="utf-8", exclude_characters="/\0\n"), min_size=1, max_size=12).filter(
    lambda part: part not in (".", "..")
)


@given(st.lists(st.tuples(st.lists(PART, min_size=1, max_size=3), st.binary(max_size=2000)), min_size=1, max_size=12))
def test_any_names_come_back(tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[list[str], bytes]]) -> None:
    place = tmp_path_factory.mktemp("any")
    for parts, data in wanted:
        path = place / "in" / "/".join(parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError:
            continue  # a file where a folder is, or the other way round
    endings = [
        (key_of(name.encode()), name.encode()[len(key_of(name.encode())) :].lower()) for name in found(place / "in")
    ]
    if len(set(endings)) != len(endings):
        return
    pack(place / "in", place / "out", size=4096)
    with open_index(place / "out") as index:
        assert verify(index, lambda done, total: None) == []
        unpack(index, place / "again", lambda done, total: None)
    assert found(place / "again") == found(place / "in")


@given(st.text())
def test_an_escaped_text_is_one_field_and_comes_back(text: str) -> None:
    if text.encode("utf-8", "ignore").decode() != text:
        return
    assert unescaped(escaped(text)) == text
    assert not {"\t", "\n", "\r", "\x1b", "\u202e"} & set(escaped(text))


@given(st.lists(st.integers(1, 120), min_size=1, max_size=5))
def test_what_fits_is_what_tar_takes(parts: list[int]) -> None:
    name = "/".join("x" * part for part in parts).encode()
    try:
        header(name, 0)
        taken = True
    except ValueError:
        taken = False
    assert fits(name) == taken


def test_a_pack_that_dies_at_any_call_continues_and_ends_as_if_it_had_not(tmp_path: Path) -> None:
    source = make(tmp_path / "in", some(9))
    pack(source, tmp_path / "whole")
    expected = found(tmp_path / "whole")
    for number in range(10_000):
        out = tmp_path / f"out{number}"
        died = crash_at(number, lambda out=out: pack(source, out))  # type: ignore[misc]
        if died and (out / "index.tsv").exists():
            assert {name: data for name, data in found(out).items() if name in expected} == expected
        if not died:
            break
        if number % 3 == 0:  # it dies again, a little later
            crash_at(number // 2 + 1, lambda out=out: pack(source, out))  # type: ignore[misc]
        if out.exists() and (out / "index.tsv").exists() and not (out / ".adminkit-pack").exists():
            assert found(out) == expected
            continue
        pack(source, out)
        assert found(out) == expected, number
    assert number > 60


@pytest.mark.parametrize(
    ("files", "words"),
    [({"a.jpg": b"a"}, ("1 file in 1 shard,", "1 shard and 1 file are")),
     ({"a.jpg": b"a", "b.jpg": b"b"}, ("2 files in 1 shard,", "1 shard and 2 files are"))],
)  # fmt: skip
def test_one_shard_is_not_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, bytes | Path], words: tuple[str, str]
) -> None:
    pack(make(tmp_path / "in", files), tmp_path / "out")
    for command, said in zip(("ls", "verify"), words, strict=True):
        assert main(["data", command, str(tmp_path / "out")]) == 0
        assert said in capsys.readouterr().out


def test_what_is_whole_is_not_written_again(tmp_path: Path) -> None:
    source, out = make(tmp_path / "in", some()), tmp_path / "out"
    assert crash_at(200, lambda: pack(source, out))
    before = {path.name: path.stat().st_ino for path in out.glob("*.tar")}
    assert before
    packed = pack(source, out)
    assert packed.continued >= len(before) - 1 > 0
    kept = [name for name, inode in before.items() if (out / name).stat().st_ino == inode]
    assert len(kept) == packed.continued
