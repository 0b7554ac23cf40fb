"""The registry of the words in a comment: it is whole, and everybody who reads or writes one keeps to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from adminkit.ingest.sources.sacct_fields import columns_for
from adminkit.policy.model import Policy
from adminkit.trace import comment_words
from adminkit.trace.comment_words import WORDS
from adminkit.trace.word_parts import ADMIN_COMMENT, COMMENT_MAX, FIELDS, Reader, Word
from tests.support.comment_words import CASES, TABLE_CASES, VALUES

ROOT: Final = Path(__file__).parents[2]
#: What parses for others, and what only writes: it acts on no word.
PARTS: Final = {
    "adminkit/trace/comment_words.py", "adminkit/trace/decision_sql.py", "adminkit/trace/measured.py",
    "adminkit/demo/generate.py", "adminkit/demo/story.py", "adminkit/demo/training.py", "spank/ckpt/note.c",
    "spank/ckpt/resize.c", "spank/ckpt/progress_word.c", "spank/ckpt/extension.c", "spank/gpu_use/watch.c",
    "spank/gpu_use/word.c", "spank/io/watch.c", "spank/io/word.c", "job_submit/adminkit/record.lua",
}  # fmt: skip


def longest(word: Word) -> int:
    """Bytes of a word with the longest value of each key."""
    return len(word.prefix) + sum(len(f",{key.name}={'x' * key.longest}") for key in word.keys)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.prefix)
def test_a_word_is_as_long_as_its_keys_make_it_and_no_longer_than_a_comment(word: Word) -> None:
    assert word.longest == min(longest(word), COMMENT_MAX)


def test_all_words_have_room_in_one_comment_where_the_record_names_no_rules() -> None:
    record = longest(comment_words.RECORD) - len(",rules=") - COMMENT_MAX
    others = sum(word.longest + len(" ") for word in WORDS if word is not comment_words.RECORD)
    assert record + others < COMMENT_MAX


def test_no_two_words_and_no_two_keys_of_a_word_have_one_name() -> None:
    prefixes = [word.prefix for word in WORDS]
    assert len(set(prefixes)) == len(prefixes)
    for word in WORDS:
        assert re.fullmatch(r"[a-z]{2}[0-9]", word.prefix), "two letters and the number of its grammar"
        names = [key.name for key in word.keys]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.prefix)
def test_the_table_of_cases_has_every_word_with_every_key(word: Word) -> None:
    """So that nothing is registered that the parsers were never shown."""
    known = [re.findall(rf"(?:^| ){word.prefix}:(\S+)", case.comment) for case in TABLE_CASES]
    shown = {key for found in known for text in found for key in re.findall(r"(?:^|,)([a-z]+)=", text)}
    assert {key.name for key in word.keys} <= shown


def test_what_a_key_is_said_to_hold_is_what_the_cases_have() -> None:
    for key in comment_words.RECORD.keys:
        assert key.needed or re.fullmatch(key.values, VALUES[key.name]), key.name
    ends = {case.note[3] for case in CASES if case.note and case.note[3]}
    end = next(key for key in comment_words.NOTE.keys if key.name == "end")
    assert set(end.values.split("|")) <= ends


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.prefix)
def test_a_word_that_is_to_come_has_an_owner_and_no_reader(word: Word) -> None:
    assert word.writer
    assert bool(word.readers) != word.reserved


#: How each kind of source takes a word from a comment.
PARSERS: Final[list[tuple[str, str]]] = [
    (
        "adminkit/**/*.py",
        r"from adminkit\.trace\.(?:comment_words|plugin_words|decision_sql) import|module\(\"record\"\)",
    ),
    ("job_submit/adminkit/*.lua", r"\brecord\.read\("),
    ("spank/**/*.c", r"\bck_(?:note|order)_find\(|\bck_progress_put\(|\bck_extension_\w+\(|\bgu_word_put\("),
]


def parsing() -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for files, pattern in PARSERS
        for path in ROOT.glob(files)
        if re.search(pattern, path.read_text())
    }


def test_whoever_reads_a_word_says_what_may_have_changed_since() -> None:
    """A word was right when it was noted. What is done on it later is right only where somebody thought of the rest."""
    named = {file for word in WORDS for reader in word.readers for file in reader.files}
    assert parsing() - PARTS <= named
    assert all((ROOT / file).exists() for file in named)


@pytest.mark.parametrize(
    "reader",
    [pytest.param(reader, id=f"{word.prefix} {reader.name}") for word in WORDS for reader in word.readers],
)
def test_a_reader_says_what_follows_from_it_and_has_a_test(reader: Reader) -> None:
    for said in (reader.does, reader.since, reader.so):
        assert len(said.split()) > 2, "a sentence"
    file, _, test = reader.test.partition("::")
    assert re.search(rf"^(?:async )?def {test}\(", (ROOT / "tests" / file).read_text(), re.MULTILINE), reader.test


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.prefix)
def test_a_word_stands_where_its_jobs_owner_cannot_write(word: Word) -> None:
    """But for the record, which a site may have in another field: its limit is then `stated`."""
    assert ADMIN_COMMENT in word.fields and not ADMIN_COMMENT.owner_writes
    assert all(field.owner_writes == (field is not ADMIN_COMMENT) for field in FIELDS)
    assert word.fields == (FIELDS if word is comment_words.RECORD else (ADMIN_COMMENT,))


def test_policy_toml_and_sync_know_the_same_fields() -> None:
    allowed = Policy.model_json_schema()["properties"]["record"]["enum"]
    assert {field.setting for field in FIELDS} | {"none"} == set(allowed)
    assert [column.kind for column in columns_for(field.name for field in FIELDS)] == ["admin_comment"] * len(FIELDS)
