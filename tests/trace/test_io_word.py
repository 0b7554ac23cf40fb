"""What the plugin adminkit_io left in a run's comment: what of it counts, and as what."""

from __future__ import annotations

import pytest

from adminkit.trace.io_word import FileWaits, file_waits_of
from adminkit.trace.plugin_words import FILE_WAITS

START = 1_790_000_000


def word(
    node: int = 0, *, at: int = START + 5, to: int = START + 3605, fs: str = ",fs=nfs4-home", **values: int
) -> str:
    said = {"n": 720, "wait": 650, "only": 600, "full": 10} | values
    return f"io1:at={at},to={to},node={node}," + ",".join(f"{key}={value}" for key, value in said.items()) + fs


def seen(
    samples: int = 720, waits: int = 650, only: int = 600, full: int = 10, system: str | None = "nfs4-home"
) -> FileWaits:
    return FileWaits(samples=samples, waits=waits, only=only, full=full, system=system)


@pytest.mark.parametrize(
    ("comment", "start", "expected", "why"),
    [
        (word(), START, seen(), "one node"),
        (f"ak1:lim=60,src=e {word()} gu1:at=1 mine", START, seen(), "between others' words"),
        (f"{word()} {word(1, n=280, wait=0, only=0, full=0, fs='')}", START, seen(1000), "two nodes"),
        (f"{word()} {word(1, wait=700, fs=',fs=ext4')}", START, seen(1440, 1350, 1200, 20, "ext4"), "the most waits"),
        (f"{word()} {word(only=0)}", START, seen(), "the first word of a node"),
        (f"{word(n=0, wait=0, only=0, full=0)} {word(1)}", START, seen(), "a node of which nothing was seen"),
        (word(wait=0, only=0, full=0, fs=""), START, seen(720, 0, 0, 0, None), "it never waited for files"),
        (word(fs=""), START, seen(system=None), "the file system is not known"),
        (word(), START + 6, None, "an earlier run's"),
        (word(), None, None, "a run that did not begin"),
        (word(to=START), START, None, "it ends before it begins"),
        (word(wait=721), START, None, "more waits than samples"),
        (word(only=651), START, None, "more than the waits"),
        (word(full=721), START, None, "more than the samples"),
        (word(fs=",fs=NFS"), START, None, "a name that is never written"),
        (word(fs=",fs=" + "a" * 41), START, None, "a name that is too long"),
        (word(fs=",fs=<b>"), START, None, "no name"),
        (word(fs=",fs=a,new=1"), START, None, "a key of another release"),
        (word().replace("n=720", "n=" + "9" * 16), START, None, "a number that was not counted"),
        (word().replace("io1", "io2"), START, None, "another grammar"),
        ("x" + word(), START, None, "inside of another word"),
        ("io1:at=1", START, None, "cut"),
        (None, START, None, "no comment"),
    ],
)
def test_a_word_counts_for_its_run(
    comment: str | None, start: int | None, expected: FileWaits | None, why: str
) -> None:
    assert file_waits_of(comment, start) == expected, why


def test_what_is_read_is_what_the_registry_says() -> None:
    assert [key.name for key in FILE_WAITS.keys] == ["at", "to", "node", "n", "wait", "only", "full", "fs"]
