"""What adminkit-ingest and the slow parser make of the words of GPUs."""

from __future__ import annotations

import pytest

from adminkit.gres import parse_gres, parse_tres, parse_words
from adminkit.ingest.spec import KINDS
from tests.native import helper
from tests.support.gres_words import Case, cases

TEXTS = cases("tres") + cases("gres")
#: Where whole GPUs, their types, what is not whole, and what it is of stand among the outputs.
PLACES = {"tres": (3, 4, 7, None), "gres": (0, 1, 2, 3)}


def outputs(case: Case) -> tuple[object, ...]:
    """What the helper says."""
    rows, _ = helper.dump(f"1|{case.text}\n".encode(), f"jobid,{case.form}")
    values = rows[0][1 + len(KINDS["jobid"]) :]
    return tuple(None if place is None else values[place] for place in PLACES[case.form])


@pytest.mark.parametrize("case", [case for case in TEXTS if case.text], ids=str)
def test_the_helper_says_what_the_table_says(case: Case) -> None:
    gpus, types, parts, per = outputs(case)
    if case.counts is None:
        assert (gpus, parts) == (None, "?")
        return
    assert gpus == case.counts[0]
    assert parse_words(str(parts or "")) == case.counts[1:]
    assert (types or "") == case.types
    assert per in (None, case.per)
    read = (parse_tres if case.form == "tres" else parse_gres)(case.text)
    assert read is not None and read.held().parts == (parts or "")


@pytest.mark.parametrize("form", ["tres", "gres"])
def test_an_empty_text_is_unknown(form: str) -> None:
    case = next(case for case in TEXTS if case.form == form and not case.text)
    assert outputs(case) == (None, None, None, None)
