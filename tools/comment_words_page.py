"""docs/comment-words.md, from the registry (adminkit/trace/comment_words.py)."""

from __future__ import annotations

from collections.abc import Iterable

from adminkit.trace.comment_words import WORDS
from adminkit.trace.word_parts import COMMENT_MAX, FIELDS, Word

HEAD = """# The words of a comment

{note}

## What
adminkit stores a few words in a field of each job: AdminComment, unless `record` in `policy.toml` names another field.
slurmctld keeps the words when the job is requeued, and slurmdbd stores them. A word has the form
`prefix:key=value,key=value`, and ends at a space or at the end of the comment. The prefix is two letters and the
version of the word's grammar. The keys are in the order of the tables below, and optional keys may be missing.

A word is read whole or not at all. A number that is too large for its column is read as the largest that fits. A
program that writes a word replaces the previous copy, and leaves every other byte unchanged: the words of other tools,
reserved words, and words that break the grammar. If the comment would then be longer than {most} bytes, the program
writes nothing, because Slurm would refuse the comment.

Words and keys marked *to come* are reserved, and no program writes them yet. Every parser treats a reserved word as
another tool's, and ignores a reserved key, so that an older `adminkit` can still read the record of a newer script.
"""
WHY = """
## Why nobody else's word is trusted
A user can type any of these words into a job name, a comment or a command line. adminkit reads them only in these
fields:
"""
BELIEVED = """
## How far a word is trusted
Each word was correct for its job when it was written. For each program that reads a word, the table says what may have
changed since, and what the program checks before it acts:

"""
TAIL = """
The registry is `adminkit/trace/comment_words.py`. There are four parsers: SQL for what slurmctld says about open jobs
(`adminkit/trace/decision_sql.py`), C for sacct's text (`adminkit/native/common/comment_words.c`), C in the checkpoint
plugin (`note.c`), and Lua in the job_submit script (`job_submit/adminkit/record.lua`). The last two also write words.
All four are tested with the cases of `tests/data/comment_words.tsv`. [ADR 8](adr/0008-points-and-record.md) and [ADR
9](adr/0009-the-note.md) explain why words in a comment are used.
"""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _words() -> str:
    rows = (
        (
            f"`{word.prefix}:`",
            word.meaning + (f"; {word.claim}" if word.claim else ""),
            word.writer + (" (to come)" if word.reserved else ""),
            ", ".join(dict.fromkeys(reader.name for reader in word.readers)) or "–",
            word.place,
            f"{word.longest}",
        )
        for word in WORDS
    )
    return _table(("word", "meaning", "written by", "read by", "which copy is read", "maximum length, bytes"), rows)


def _keys(word: Word) -> str:
    rows = (
        (
            f"`{key.name}`",
            f"`{key.values}`",
            "to come" if key.reserved else "yes" if key.needed else "no",
            key.meaning,
        )
        for key in word.keys
    )
    return f"\n### {word.prefix}\n" + _table(("key", "value", "required", "meaning"), rows)


def _readers() -> str:
    rows = (
        (f"`{word.prefix}:`", reader.name, reader.does, reader.since, reader.so, f"`{reader.test}`")
        for word in WORDS
        for reader in word.readers
    )
    return _table(("word", "read by", "what it does", "what may have changed since", "why that is safe", "test"), rows)


def _fields() -> str:
    rows = (
        (
            field.name,
            "its owner, at any time" if field.owner_writes else "operators",
            ", ".join(f"`{word.prefix}:`" for word in WORDS if field in word.fields),
            field.guard,
        )
        for field in FIELDS
    )
    return _table(("field", "who can change it", "words", "consequence"), rows)


def markdown(note: str) -> str:
    keys = "".join(map(_keys, WORDS))
    return (
        HEAD.format(note=note, most=COMMENT_MAX)
        + "\n"
        + _words()
        + keys
        + WHY
        + "\n"
        + _fields()
        + BELIEVED
        + _readers()
        + TAIL
    )
