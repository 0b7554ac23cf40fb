"""A request in sbatch's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.errors import UsageError
from adminkit.fit.request import Request, parse_gpus, parse_mem, parse_time, request

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "seconds", "why"),
    [
        ("90", 5400, "a bare number is minutes"),
        ("90:00", 5400, "minutes and seconds"),
        ("0:30", 60, "up to the whole minute"),
        ("1:30:00", 5400, "a clock"),
        ("1-12", 129_600, "days and hours"),
        ("1-12:30", 131_400, "days, hours, minutes"),
        ("1-00:00:01", 86_460, "and seconds"),
        ("90m", None, "sbatch has no units"),
        ("0", None, "sbatch takes it for no limit"),
        ("-1", None, "sbatch takes it for no limit"),
        ("1-", None, "half a time"),
        ("٣", None, "a digit of another script"),
        ("--wrap=x", None, "an option"),
    ],
)
def test_a_time_is_as_sbatch_reads_it(text: str, seconds: int | None, why: str) -> None:
    if seconds is None:
        with pytest.raises(UsageError):
            parse_time(text)
    else:
        assert parse_time(text) == seconds, why


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 * GIB), ("500", 500 << 20), ("500M", 500 << 20), ("1T", 1024 * GIB), ("1K", 1 << 20), ("4.5G", None)],
)
def test_memory_is_as_sbatch_reads_it(text: str, size: int | None) -> None:
    if size is None:
        with pytest.raises(UsageError):
            parse_mem(text)
    else:
        assert parse_mem(text) == size


@pytest.mark.parametrize(
    ("text", "found"),
    [("2", (None, 2)), ("a100:2", ("a100", 2)), (None, (None, 0)), ("a100:1,v100:1", None), ("a b:1", None)],
)
def test_gpus_are_a_number_or_a_type_and_a_number(text: str | None, found: tuple[str | None, int] | None) -> None:
    if found is None:
        with pytest.raises(UsageError):
            parse_gpus(text)
    else:
        assert parse_gpus(text) == found


def test_the_words_of_sbatch_are_whole() -> None:
    one = request("gq", 4, "4G", "a100:2", "90", "physics", "high")
    assert one.words() == [
        "--nodes=1", "--ntasks=1", "--cpus-per-task=4", "--partition=gq", "--mem=4096M", "--gpus=a100:2", "--time=90",
        "--account=physics", "--qos=high",
    ]  # fmt: skip
    assert one.line() == "-p gq --gpus a100:2 -c 4 --mem 4G -t 90 -A physics -q high"
    assert Request().words() == ["--nodes=1", "--ntasks=1", "--cpus-per-task=1"]


@given(st.text(max_size=30))
def test_no_text_becomes_a_second_option_or_a_control_character(text: str) -> None:
    names = ("queue", "account", "qos", "gpus", "mem", "time", "nodes", "gpus_per_node", "mem_per_cpu", "features")
    for name in (*names, "licences"):
        try:
            one = request(**{name: text})  # type: ignore[arg-type]
        except UsageError:
            continue
        for word in one.words():
            assert (
                word.startswith("--")
                and word.isascii()
                and word.isprintable()
                and " " not in word
                and ("," not in word or name == "licences")
            )
