"""docs/comment-words.md, from the registry (adminkit/trace/comment_words.py)."""

from __future__ import annotations

from collections.abc import Iterable

from adminkit.trace.comment_words import COMMENT_MAX, FIELDS, WORDS, Word

HEAD = """# The words of a comment

{note}

## What
adminkit leaves a few words in a field of each job: AdminComment, unless `record` in `policy.toml` puts the record
elsewhere. slurmctld keeps them over a requeue, and slurmdbd stores them. A word is `prefix:key=value,key=value`, up to
a blank or the comment's end; the prefix is two letters and the number of its grammar. Its keys come in the order of
its table, and optional keys may be missing.

A word is read whole or not at all. A number that is too large for its column is read as the largest that fits. Whoever
writes a word replaces the previous one and leaves all other words unchanged, to the byte: those of other
tools, reserved words, and those that break the grammar. If the comment would be longer than {most} bytes,
nothing is written, since Slurm refuses it.

Words and keys marked *to come* are reserved, and nobody writes them yet. Every parser treats such a word as another
tool's. It skips such a key in its place, so that an older `adminkit` still reads the record of a newer script.
"""
WHY = """
## Why nobody else's word is trusted
A user can type any of these words into a name, a comment or a command line. adminkit reads them only in these fields:
"""
BELIEVED = """
## How far a word is trusted
A word was right for the job when it was written. For each reader the table says what may have changed since, and
what it checks again before it acts:

"""
TAIL = """
The registry is `adminkit/trace/comment_words.py`. There are four parsers: SQL for what slurmctld says about open jobs
(`adminkit/trace/decision_sql.py`), C for sacct's text (`adminkit/native/common/comment_words.c`), the checkpoint
plugin's C (`note.c`) and the script's Lua (`job_submit/adminkit/record.lua`); the last two write as well. All of
them run the cases of `tests/data/comment_words.tsv`. [ADR 8](adr/0008-points-and-record.md) and
[ADR 9](adr/0009-the-note.md) say why these are words of a comment.
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
    return _table(("word", "says", "written by", "read by", "position", "longest, bytes"), rows)


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
    return f"\n### {word.prefix}\n" + _table(("key", "value", "needed", "says"), rows)


def _readers() -> str:
    rows = (
        (f"`{word.prefix}:`", reader.name, reader.does, reader.since, reader.so, f"`{reader.test}`")
        for word in WORDS
        for reader in word.readers
    )
    return _table(("word", "read by", "which", "what may have changed since", "so", "test"), rows)


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
    return _table(("field", "who can change it", "words", "so"), rows)


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
