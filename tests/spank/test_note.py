"""The plugin's note in AdminComment: put where it belongs, found where it is, and read alike by plugin and trace."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.job import CKPT_ENDS
from tests.native import oracle

SPANK = Path(__file__).parents[2] / "spank"
ENDS = (None, *CKPT_ENDS)
NOTE = (1790000000, 3, 1, "more")
WORD = "ck1:at=1790000000,heard=3,rq=1,end=more"
RECORD = "ak1:lim=7200,src=e,rules=gq-max"

Note = tuple[int, int, int, str | None]


class Struct(ctypes.Structure):
    """struct ck_note."""

    _fields_ = (
        ("at", ctypes.c_int64),
        ("heard", ctypes.c_uint32),
        ("requeues", ctypes.c_uint32),
        ("end", ctypes.c_int),
    )


class Plugin:
    """note.c, as the plugin has it."""

    def __init__(self, folder: Path) -> None:
        built = folder / "note.so"
        strict = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-shared", "-fPIC")
        subprocess.run(["cc", *strict, "-o", built, f"-I{SPANK}", SPANK / "ckpt/note.c"], check=True)
        self._code = ctypes.CDLL(str(built))
        self._code.ck_note_find.restype = self._code.ck_note_put.restype = ctypes.c_bool

    def find(self, comment: str | None) -> Note | None:
        note = Struct()
        text = None if comment is None else comment.encode()
        if not self._code.ck_note_find(text, ctypes.byref(note)):
            assert (note.at, note.heard, note.requeues, note.end) == (0, 0, 0, 0), "nothing is left of half a note"
            return None
        return note.at, note.heard, note.requeues, ENDS[note.end]

    def put(self, comment: str | None, note: Note, size: int = 2000) -> str | None:
        out = ctypes.create_string_buffer(b"x" * (size - 1), size)
        text = None if comment is None else comment.encode()
        done = self._code.ck_note_put(out, ctypes.c_size_t(size), text, ctypes.byref(_struct(note)))
        assert done or out.value == b"", "what does not fit is not written in part"
        return out.value.decode() if done else None


def _struct(note: Note) -> Struct:
    return Struct(note[0], note[1], note[2], ENDS.index(note[3]))


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return Plugin(tmp_path_factory.mktemp("note"))


@pytest.mark.parametrize(
    ("comment", "found", "why"),
    [
        (WORD, NOTE, "alone"),
        (f"{RECORD} {WORD} mine", NOTE, "between others"),
        ("ck1:at=9,heard=0,rq=0", (9, 0, 0, None), "of a run that goes on, and nothing caught it"),
        ("ck1:at=9,heard=0,rq=0 ck1:at=8,heard=1,rq=1", (9, 0, 0, None), "the first counts"),
        ("ck1:at=9,heard=0 ck1:at=8,heard=1,rq=1", (8, 1, 1, None), "the first that is whole"),
        (None, None, "no comment"),
        ("", None, "an empty one"),
        (RECORD, None, "no note"),
        (f"x{WORD}", None, "not a word's beginning"),
        (f"{WORD},x=1", None, "nor its end"),
        (f"{WORD}\n", None, "words end with a blank"),
        ("ck1:at=9,heard=1,rq=1,end=", None, "cut short"),
        ("ck1:at=9,heard=1,rq=1,end=mo", (9, 1, 1, None), "an end that another release knows: the count holds"),
        ("ck1:at=9,heard=1,rq=1,end=More", None, "no word of the grammar"),
        ("ck1:at=9,heard=4294967296,rq=1", (9, 2**32 - 1, 1, None), "as much as fits"),
        ("ck1:at=99999999999999999999,heard=1,rq=1", (2**63 - 1, 1, 1, None), "here too"),
        ("ck1:at=-9,heard=1,rq=1", None, "no such time"),
        ("ck1:heard=1,at=9,rq=1", None, "keys have an order"),
        ("ck2:at=9,heard=1,rq=1", None, "a grammar of the future"),
    ],
)
def test_a_comment_says(plugin: Plugin, comment: str | None, found: Note | None, why: str) -> None:
    assert plugin.find(comment) == found, why


@pytest.mark.parametrize(
    ("comment", "wanted", "why"),
    [
        (None, WORD, "no comment"),
        ("", WORD, "an empty one"),
        ("mine", f"{WORD} mine", "in front"),
        (RECORD, f"{RECORD} {WORD}", "behind the policy's record, which must stay the first word"),
        (f"{RECORD} mine too", f"{RECORD} {WORD} mine too", "and before what stood there"),
        (f"{RECORD} ck1:at=9,heard=0,rq=0 mine", f"{RECORD} {WORD} mine", "in place of the former one"),
        ("mine ck1:at=9,heard=0,rq=0,end=short", f"mine {WORD}", "wherever that is"),
        ("ck1:at=9", f"{WORD} ck1:at=9", "what is no note is somebody's word"),
        ("x" * 1024, None, "there is no room"),
        ("x" * (1023 - len(WORD)), f"{WORD} " + "x" * (1023 - len(WORD)), "there is just enough"),
    ],
)
def test_a_note_is_put(plugin: Plugin, comment: str | None, wanted: str | None, why: str) -> None:
    assert plugin.put(comment, NOTE) == wanted, why


def test_it_never_writes_past_the_room_given(plugin: Plugin) -> None:
    assert plugin.put(None, NOTE, len(WORD)) is None
    assert plugin.put(None, NOTE, len(WORD) + 1) == WORD


PIECES = st.sampled_from(
    [
        "ck1:",
        "at=",
        "heard=",
        "rq=",
        "end=",
        "more",
        "limit",
        "9",
        "0",
        ",",
        " ",
        "x",
        "ak1:",
        "lim=60,src=e",
        "\n",
        "ü",
    ]
)
WHOLE = st.sampled_from([WORD, RECORD, "ck1:at=9,heard=0,rq=0", " "])
COMMENTS = st.lists(PIECES | WHOLE, max_size=12).map("".join)
NOTES = st.tuples(
    st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from(ENDS)
)


@settings(deadline=None)
@given(comment=COMMENTS, note=NOTES)
def test_what_was_put_is_found_and_all_else_stays(plugin: Plugin, comment: str, note: Note) -> None:
    text = plugin.put(comment, note)
    assert text is not None and plugin.find(text) == note
    mine = "ck1:at={},heard={},rq={}".format(*note) + (f",end={note[3]}" if note[3] else "")
    words = comment.split(" ") if comment else []
    former = next((nth for nth, word in enumerate(words) if oracle.CKPT.fullmatch(word.encode())), None)
    place = int(comment.startswith("ak1:")) if former is None else former
    assert text.split(" ") == [*words[:place], mine, *words[place + (former is not None) :]]


@settings(deadline=None)
@given(comment=COMMENTS, note=NOTES)
def test_the_trace_reads_what_the_plugin_put(plugin: Plugin, comment: str, note: Note) -> None:
    text = plugin.put(comment, note)
    assert text is not None
    at, heard, requeues, end = oracle.checkpoint(text.encode())
    capped = min(note[0], 2**63 - 10)
    assert (at, heard, requeues, end and bytes(end).decode()) == (capped, *note[1:])  # type: ignore[call-overload]
