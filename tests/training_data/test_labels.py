"""Labels of a site's own making: as spreadsheets and `find` write them, wrong in many ways, and for other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.data.index import open_index
from tests.support.crash import crash_at
from tests.training_data.trees import make, pack, some

FILES: dict[str, bytes | Path] = {"a/1.jpg": b"1" * 900, "a/2.jpg": b"2" * 900, "b/3.jpg": b"3" * 900}


@pytest.mark.parametrize(
    ("text", "classes", "why"),
    [
        (b"\xef\xbb\xbfname,class\r\na/1.jpg,cat\r\n", ["cat", "", ""], "a spreadsheet's mark"),
        (b'"a/1.jpg","a, ""big"" cat"\n', ['a, "big" cat', "", ""], "quotes"),
        (b"./a/1.jpg,cat\n./b/3,dog\n", ["cat", "", "dog"], "as find writes names"),
        (b"img,breed\na/1.jpg,cat\n", ["cat", "", ""], "another header is a name without a file"),
    ],
)
def test_labels_as_programs_write_them(tmp_path: Path, text: bytes, classes: list[str], why: str) -> None:
    (tmp_path / "labels.csv").write_bytes(text)
    packed = pack(make(tmp_path / "in", FILES), tmp_path / "out", labels=tmp_path / "labels.csv")
    with open_index(tmp_path / "out") as index:
        found = {entry.name: entry.label for entry in index.entries()}
    assert [found[name] for name in FILES] == classes, why
    assert packed.unlabelled == classes.count("")


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        (b"a/1.jpg,cat\na/2.jpg,caf\xe9\n", "line 2 of", "UTF-8"),
        ("a/1.jpg,cat\n".encode("utf-16"), "line 1 of", "UTF-8"),
        (b"a/1.jpg,cat\na/2.jpg,cat\na/1.jpg,dog\n", "gives a name two classes: a/1.jpg", "once"),
        (b"./a/1.jpg,cat\na/1.jpg,dog\n", "gives a name two classes: a/1.jpg", "once"),
        (b"a/1.jpg;cat\n", "line 1 of", "a/0001.jpg,cat"),
        (b"", "has no class of a file in", "below SRC"),
        (b"name,class\n", "has no class of a file in", "below SRC"),
        (b"/data/in/a/1.jpg,cat\nin/a/2.jpg,dog\n", "has no class of a file in", "below SRC"),
    ],
)
def test_labels_that_do_not_fit_are_refused_before_anything_is_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes, words: str, hint: str
) -> None:
    (labels := tmp_path / "labels.csv").write_bytes(text)
    source = make(tmp_path / "in", FILES)
    assert main(["data", "pack", str(source), str(tmp_path / "out"), "--labels", str(labels)]) == 1
    error, _, advice = capsys.readouterr().err.partition("hint: ")
    assert words in error and hint in advice and "codec" not in error
    assert not (tmp_path / "out").exists()


def test_files_without_a_class_are_counted_also_where_a_pack_continues(tmp_path: Path) -> None:
    source, labels = make(tmp_path / "in", some()), tmp_path / "labels.csv"
    labels.write_text("dog/0000.jpg,dog\n")
    whole = pack(source, tmp_path / "whole", labels=labels)
    continued = 0
    for number in range(130, 1000, 10):
        out = tmp_path / f"out{number}"
        if not crash_at(number, lambda out=out: pack(source, out, labels=labels)):  # type: ignore[misc]
            break
        if (out / ".adminkit-pack").exists():
            again = pack(source, out, labels=labels)
            continued += again.continued > 0
            assert again.unlabelled == whole.unlabelled == whole.files - 2, number
    assert continued > 3
