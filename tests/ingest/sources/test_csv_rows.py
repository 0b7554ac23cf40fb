"""Records of CSV text: quoting, and broken ones that take no neighbour with them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminkit.ingest.sources.csv_rows import MAX_CHARS, MAX_LINES, CsvRows


def read(text: str | bytes, delimiter: str = ",") -> list[tuple[int, Sequence[str] | str]]:
    """(first line, cells or the reason) of each record."""
    source = io.BytesIO(text.encode() if isinstance(text, str) else text)
    return [(line, reason if cells is None else cells) for line, _, cells, reason in CsvRows(source, delimiter)]


ENDS = str.maketrans("", "", "\r\n")
OPEN = "a quote that is not closed"


@pytest.mark.parametrize(
    ("text", "records", "why"),
    [
        ("a,b\n1,2\n", [(1, ["a", "b"]), (2, ["1", "2"])], "plain"),
        ("a,b\r\n1,2", [(1, ["a", "b"]), (2, ["1", "2"])], "DOS, and no newline at the end"),
        ("\ufeffa,b\n", [(1, ["a", "b"])], "a byte order mark"),
        ('a,b\n"1,\n2","x""y"\n3,4\n', [(1, ["a", "b"]), (2, ["1,\n2", 'x"y']), (4, ["3", "4"])], "quoted newlines"),
        ("a,b\n\n1,2\n", [(1, ["a", "b"]), (3, ["1", "2"])], "empty lines are passed over"),
        ("a,b\n1\n1,2,3\n4,5\n",
         [(1, ["a", "b"]), (2, "1 columns instead of 2"), (3, "3 columns instead of 2"), (4, ["4", "5"])],
         "too few and too many"),
        ('a,b\n1,"2\n3,4\n5,6\n', [(1, ["a", "b"]), (2, OPEN), (3, ["3", "4"]), (4, ["5", "6"])],
         "a quote that is never closed takes only its own line"),
        ('a,b\n1,"2\n3,4\n5,"6"\n', [(1, ["a", "b"]), (2, "not CSV: ',' expected after '\"'"), (3, ["3", "4"]),
         (4, ["5", "6"])], "nor does one that another line's quote closes"),
        ('a,b\n"1\n2"\n3,4\n', [(1, ["a", "b"]), (2, "1 columns instead of 2"), (3, "not CSV"), (4, ["3", "4"])],
         "a record of several lines with too few columns is no record"),
        ('a,b\n"1"x,2\n3,4\n', [(1, ["a", "b"]), (2, "not CSV: ',' expected after '\"'"), (3, ["3", "4"])],
         "text after a quote"),
        ("", [], "nothing"),
    ],
)  # fmt: skip
def test_the_records_of(text: str, records: list[tuple[int, Sequence[str] | str]], why: str) -> None:
    found = read(text)
    if why.startswith("a record of several lines"):  # what the line that is left over is called is csv's business
        found = [(line, "not CSV" if isinstance(one, str) and line == 3 else one) for line, one in found]
    assert found == records, why


def test_a_line_without_an_end_is_not_kept_in_memory() -> None:
    text = b"a,b\n1," + b"x" * (3 * MAX_CHARS) + b"\n2,3\n"
    reasons = read(text)
    assert reasons[1][1] == "a record of more than 1 MiB or 1000 lines, or a quote that is not closed"
    assert reasons[2] == (3, ["2", "3"])


def test_a_quote_swallows_no_more_lines_than_a_record_may_have() -> None:
    rows = "".join(f"{n},x\n" for n in range(3 * MAX_LINES))
    found = read('a,b\n"1,2\n' + rows)
    assert len(found) == 2 + 3 * MAX_LINES
    assert [line for line, cells in found if isinstance(cells, str)] == [2]


def test_a_text_is_kept_for_who_sets_the_record_aside() -> None:
    texts = [text for _, text, _, _ in CsvRows(io.BytesIO(b'a,b\n"1\n2",\xff\n"3\n4,5\n'), ",")]
    assert texts == ["a,b\n", '"1\n2",\udcff\n', '"3\n', "4,5\n"]


CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8), st.sampled_from(",\t;|"))
def test_what_a_csv_writer_wrote_is_read_back_and_no_cell_makes_a_row(rows: list[list[str]], delimiter: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    assert [cells for _, cells in read(out.getvalue(), delimiter)] == rows


@given(st.text(st.sampled_from('a,"\n\r学'), max_size=60))
def test_nothing_of_any_text_is_lost_or_read_twice(text: str) -> None:
    kept = "".join(text for _, text, _, _ in CsvRows(io.BytesIO(text.encode()), ","))
    assert kept.translate(ENDS) == text.translate(ENDS)
