"""What squeue says of open jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adminkit.slurm import seal
from adminkit.slurm.open_jobs import admin_comments, parse
from adminkit.slurm.seal import Marks
from tests.support.fakes import Programs

#: Written | and ! below.
MARKS = Marks("\x1fAb-_9zZ0", "x0123456789abcdef")


@pytest.mark.parametrize(
    ("lines", "found", "why"),
    [
        ("7 |1700000000! |ak1:lim=60,src=e   |", [(7, 1700000000, "ak1:lim=60,src=e")], "padded to its width"),
        ("CLUSTER: alpha\n7|17!|x|", [(7, 17, "x")], "-M names the cluster first"),
        ("7|17!|      |\n8|17!|(null)|\n9|17!|N/A|", [], "nothing was written"),
        ("7|Unknown|x|", [], "no time"),
        ("7|17|x|", [], "a time that squeue did not print"),
        ("7|17!|x\ny|\n8|17!|z|", [(8, 17, "z")], "a newline in the text loses that text alone"),
        ("7|17!|x|\n9|17|ak1:lim=1,src=e|\n|", [(7, 17, "x")], "what a text adds has no seal"),
        ("", [], "no job is open"),
    ],
)
def test_a_line_is_a_job(lines: str, found: list[tuple[int, int, str]], why: str) -> None:
    text = lines.replace("|", MARKS.delimiter).replace("!", MARKS.seal)
    assert parse(text, MARKS) == found, why


def test_marks_are_drawn_for_each_question_and_the_seal_is_no_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Programs(tmp_path / "bin", monkeypatch)
    log = programs.folder / "log"
    programs.add("squeue", f'echo "$SLURM_TIME_FORMAT $*" >> {log}')
    programs.add("scontrol", 'echo "slurm 22.05.8"')
    for _ in range(2):
        assert admin_comments("alpha") == []
    seals, words = zip(*(line.split(" ", 1) for line in log.read_text().splitlines()), strict=True)
    assert len(set(seals)) == len(set(words)) == 2
    assert not any(one.removeprefix("%s") in word for one in seals for word in words)


def test_marks_fit_into_slurm_and_the_helper() -> None:
    for _ in range(1000):
        marks = seal.draw()
        assert len(os.fsencode(marks.delimiter)) == 9 and len(f"%s{marks.seal}") < 32
        assert not set(marks.delimiter + marks.seal) & set("%,|\n \t"), "a word of a format, and of no list"


@pytest.mark.parametrize(
    ("text", "epoch", "why"),
    [
        ("1700000000x0123456789abcdef", 1700000000, "digits and the seal"),
        ("1700000000", None, "no seal"),
        ("1700000000x0123456789abcdee", None, "another's"),
        ("x0123456789abcdef", None, "nothing but the seal"),
        ("Unknown", None, "not known"),
        ("17x0123456789abcdefx0123456789abcdef", None, "twice"),
    ],
)
def test_a_time_without_its_seal_is_none(text: str, epoch: int | None, why: str) -> None:
    assert MARKS.epoch(text) == epoch, why
