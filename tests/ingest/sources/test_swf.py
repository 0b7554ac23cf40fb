"""The header of an SWF trace: what is read of it, and what hostile text in it cannot do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adminkit.ingest.sources.swf import MAX_NAMES, read_header


@pytest.mark.parametrize(
    ("lines", "names", "why"),
    [
        (
            "; Queue: 1 batch\n; Partition: 0 gpu",
            {"queue1": "batch", "partition0": "gpu"},
            "as the archive writes them",
        ),
        (";Queue:\t2\tlong  jobs of up to a week", {"queue2": "long"}, "the first word; what follows explains it"),
        ("; Queue:  1  \n; Queue:  2 0", {}, "no name, and a number in its place, as in RICC's trace"),
        ("; Queue: 1 x\n; Queue: 2 x\n; Queue: 3 y", {"queue3": "y"}, "a name of two would make one queue of them"),
        ("; Queue: 1 x\n; Queue: 1 y", {"queue1": "x"}, "the first word counts"),
        ("; Queue: 1 x\n; Partition: 1 x", {"queue1": "x", "partition1": "x"}, "a queue and a partition may share one"),
        ("; Queue: 01 x\n; Queue: 007 y", {"queue1": "x", "queue7": "y"}, "numbers with zeros before them"),
        ("; Queue: 1 queue2\n; Queue: 3 Partition0", {}, "the number of another one is no name"),
        ("; Queue: 1 a@b\n; Queue: 2 a'b\n; Queue: 3 a\x1b[31m\n; Queue: 4 $(id)", {}, "no word of Slurm's"),
        (f"; Queue: 1 {'a' * 65}\n; Queue: 2 {'b' * 64}", {"queue2": "b" * 64}, "a name has at most 64 characters"),
        (f"; Queue: {'9' * 10} x\n; Queue: -3 y\n; Queue: 1e3 z\n; Queue: x y", {}, "strange numbers"),
        ("; Note: Queue: 1 batch\n Queue: 2 long", {}, "only a comment of its own"),
        ("; Queue: 1 短い", {"queue1": "短い"}, "letters of any script"),
    ],
)
def test_the_names_of_queues_and_partitions(lines: str, names: Mapping[str, str], why: str) -> None:
    assert read_header(f"; Version: 2.2\n{lines}\n").names == names, why


@pytest.mark.parametrize(
    ("line", "start", "why"),
    [
        ("; UnixStartTime: 820454400", 820454400, "as the archive writes it"),
        ("; UnixStartTime: " + "9" * 5000, 0, "a number that Python refuses to read"),
        ("; UnixStartTime: -5", 0, "none"),
        ("; UnixStartTime: ١٢", 0, "digits of another script"),
    ],
)
def test_the_start(line: str, start: int, why: str) -> None:
    assert read_header(f"{line}\n").start == start, why


@pytest.mark.parametrize(
    ("line", "procs", "why"),
    [
        ("; MaxProcs: 100", 100, "as the archive writes it"),
        (";MaxProcs:\t8192 (1024 nodes)", 8192, "words behind the number"),
        ("; MaxProcs: 0", None, "unknown, as 0 and -1 are in SWF"),
        ("; MaxProcs: -1", None, "unknown"),
        ("; MaxProcs: 12345678901", None, "no machine has so many"),
        ("; Note: MaxProcs: 5", None, "a note is no field"),
        ("; MaxNodes: 7", None, "nodes are no processors"),
    ],
)
def test_processors_of_the_machine(line: str, procs: int | None, why: str) -> None:
    assert read_header(f"{line}\n").max_procs == procs, why


def test_what_is_kept_of_a_header_is_bounded() -> None:
    text = "".join(f"; Queue: {n} name{n}x\n" for n in range(3 * MAX_NAMES))
    assert len(read_header(text).names) == MAX_NAMES


def test_a_line_that_is_cut_short_names_nothing() -> None:
    assert read_header("; Queue: 1 batch\n; Queue: 2 inter").names == {"queue1": "batch"}
