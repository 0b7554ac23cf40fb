"""The plugin's note in AdminComment: put where it belongs, found where it is, and read alike by plugin and trace."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adminkit.job import CKPT_ENDS
from adminkit.trace import comment_words
from tests.native import oracle
from tests.support.comment_words import CASES, Case

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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_comment_says(plugin: Plugin, case: Case) -> None:
    """The plugin reads an unknown end, of another release, as no end: the count matters."""
    note = case.note
    assert plugin.find(case.comment) == (note and (*note[:3], note[3] if note[3] in CKPT_ENDS else None))


def test_a_job_without_a_comment_has_no_note(plugin: Plugin) -> None:
    assert plugin.find(None) is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_other_word_stays_when_a_note_is_put(plugin: Plugin, case: Case) -> None:
    """Words to come, words of others and broken ones; and a record is still the first word."""
    text = plugin.put(case.comment, NOTE)
    assert text is not None and plugin.find(text) == NOTE
    words, old = text.split(" "), case.comment.split(" ") if case.comment else []
    words.remove(WORD)
    if case.note:
        old.remove(next(word for word in old if oracle.CKPT.fullmatch(word.encode())))
    assert words == old
    assert oracle.recorded(text.encode()) == oracle.recorded(case.comment.encode())


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


def test_the_longest_note_is_as_long_as_the_registry_says(plugin: Plugin) -> None:
    longest = plugin.put(None, (2**63 - 1, 2**32 - 1, 2**32 - 1, max(CKPT_ENDS, key=len)))
    assert longest is not None and len(longest) == comment_words.NOTE.longest


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
    assert (at, heard, requeues, end and bytes(end).decode()) == note  # type: ignore[call-overload]
