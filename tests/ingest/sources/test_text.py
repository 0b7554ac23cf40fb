"""What a source is, told from its first bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adminkit.errors import UsageError
from adminkit.ingest.sources.swf import Header
from adminkit.ingest.sources.text import detect, named_columns

HEADER = "JobID|JobIDRaw|Cluster|Submit|State|JobName"
ROW = "7|7|alpha|1700000000|COMPLETED|train"


@pytest.mark.parametrize(
    ("delimiter", "why"),
    [
        ("|", "sacct's default"),
        ("\x1f", "what sync uses"),
        ("☃", "more than one byte"),
        (";|;", "slurm2sql's"),
        ("^|^", "reportseff's, and the start of another"),
        ("|#", "gcm's, which begins with the default"),
        (",", "a spreadsheet's"),
        ("~~", "one that nobody thought of"),
    ],
)
@pytest.mark.parametrize("ends", [False, True])
def test_the_delimiter_is_found_in_the_header(delimiter: str, why: str, ends: bool) -> None:
    tail = delimiter if ends else ""
    text = "\n".join(line.replace("|", delimiter) + tail for line in (HEADER, ROW)) + "\n"
    layout = detect(text.encode())
    assert (layout.delimiter, layout.ends, len(layout.columns)) == (delimiter, ends, 6), why
    assert layout.skip == len(text.split("\n")[0].encode()) + 1
    assert layout.has_cluster and not layout.civil_times and layout.unknown == ()


def test_columns_may_come_in_any_order_and_case() -> None:
    layout = detect(b"jobname|SUBMIT|jobidraw|jobid\na|1|2|2\n")
    assert [(c.name, c.kind) for c in layout.columns] == [
        ("JobName", "free"),
        ("Submit", "time"),
        ("JobIDRaw", "rawid"),
        ("JobID", "jobid"),
    ]


def test_a_column_that_sacct_does_not_have_is_read_over_and_named() -> None:
    layout = detect(b"JobID|JobIDRaw|Submit|MyOwn\n1|1|1|x\n")
    assert layout.unknown == ("MyOwn",)
    assert layout.columns[3].kind == "skip"


def test_times_written_as_dates_are_noticed() -> None:
    assert detect(f"{HEADER}\n{ROW.replace('1700000000', '2023-11-14T22:13:20')}\n".encode()).civil_times


@pytest.mark.parametrize(
    ("time", "civil", "why"),
    [
        ("2024-03-05T07:00:00", True, "somebody's clock"),
        ("2024-03-05 07:00", True, "cut short: not read, but not for want of a zone"),
        ("2024-03-05T07:00:00Z", False, "UTC"),
        ("2024-03-05T07:00:00+0100", False, "an offset"),
        ("2024-03-05T07:00:00-03:30", False, "an offset with a colon"),
        ("1709622000", False, "an epoch"),
    ],
)
def test_times_that_name_their_zone_need_no_other(time: str, civil: bool, why: str) -> None:
    assert detect(f"{HEADER}\n{ROW.replace('1700000000', time)}\n".encode()).civil_times == civil, why


@pytest.mark.parametrize("text", [f"{HEADER}\n{ROW}\n", "; Version: 2.2\n" + "1 " * 18 + "\n"])
def test_a_byte_order_mark_is_passed_over(text: str) -> None:
    plain, marked = detect(text.encode()), detect(text.encode("utf-8-sig"))
    assert marked == replace(plain, skip=plain.skip + 3)


def test_text_without_a_header_is_read_by_named_columns() -> None:
    names = named_columns("jobid,jobidraw,cluster,submit,state,jobname".split(","))
    layout = detect(f"{ROW}\n".encode(), names)
    assert (layout.delimiter, layout.ends, layout.skip) == ("|", False, 0)
    assert detect(f"{ROW}|\n".encode(), names).ends


def test_swf_is_known_by_its_header_or_by_its_eighteen_numbers() -> None:
    numbers = " ".join(["1", "0", "5", "60", "4"] + ["-1"] * 13)
    swf = detect(f"; Version: 2.2\n; UnixStartTime: 820454400\n{numbers}\n".encode()).swf
    assert swf and swf.start == 820454400
    assert detect(f"{numbers}\n".encode()).swf == Header()
    assert detect(f"{numbers} 7 8\n".encode()).is_swf, "extra columns are tolerated"


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("", "the input is empty", "sacct"),
        ("\n \n", "the input is empty", "sacct"),
        ("sacct: fatal: Bad job/step specified: -n\n", "sacct's error message", "fix that error first"),
        ("       JobID    JobName  Partition\n------------ ---------- ----------\n", "cut to column widths", "-P"),
        ("hello world\n", "the input is neither sacct text with a header nor SWF: 'hello world'", "--columns"),
        ("\x1b[31mred\n", "'·[31mred'", "--columns"),
        ("JobID|State|JobName\n", "lacks JobIDRaw, Submit", "--format=JobID,JobIDRaw,Submit"),
        ("JobID|User|Submit\n", "lacks JobIDRaw", "--map with job_id_raw = { row = 1 }"),
    ],
)
def test_what_is_neither_is_refused_with_its_first_line(text: str, says: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        detect(text.encode())
    assert says in error.value.message
    assert hint in error.value.hint


def test_a_misspelt_column_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no such column: Submitt") as error:
        named_columns(["JobID", "JobIDRaw", "Submitt"])
    assert error.value.hint == "did you mean Submit?"


def test_columns_that_do_not_fit_the_first_line_are_refused() -> None:
    with pytest.raises(UsageError, match="into 4 columns"):
        detect(b"1|2\n", ["JobID", "JobIDRaw", "Submit", "State"])


def test_utf_16_is_called_so() -> None:
    with pytest.raises(UsageError, match="the text is UTF-16") as error:
        detect("JobID|JobIDRaw|Submit\n".encode("utf-16"))
    assert "iconv" in error.value.hint
