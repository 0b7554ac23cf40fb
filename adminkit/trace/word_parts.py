"""What the registry of comment words is made of: fields of a job, words in them, keys of a word, and their readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Bytes of a comment at submission. Trap: slurmctld refuses a longer one after the script has run.
COMMENT_MAX: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a job in which words stand. `owner_writes`: the job's owner may write there at any time."""

    name: str  # sacct's
    setting: str  # policy.toml's, for `record`
    owner_writes: bool
    guard: str  # what keeps others from writing there, or what follows where nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One `key=value` of a word."""

    name: str
    values: str  # a regular expression of what is written
    longest: int  # bytes of the longest value that is written
    meaning: str
    needed: bool = False  # without it there is no word
    reserved: bool = False  # every parser reads over it, and nobody writes it yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads a word, and why it may be believed then: it was right for the job of the moment at which it was noted.

    `files` are those that have it parsed; `test` shows `so`.
    """

    name: str
    does: str  # with it
    since: str  # what may have changed since it was noted
    so: str  # what is asked again before anything is done on it, or why nothing has to be
    files: tuple[str, ...]
    test: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """`prefix:` and the keys in this order, joined by commas, up to a blank or the comment's end."""

    prefix: str
    meaning: str
    keys: tuple[Key, ...]
    fields: tuple[Field, ...]
    place: str  # where in the field a parser looks for it
    writer: str  # the only one who writes it
    readers: tuple[Reader, ...]
    longest: int  # bytes
    claim: str = ""  # what in it is the user's word all the same, and what follows from that
    reserved: bool = False  # to every parser somebody's word, and nobody writes it yet


ADMIN_COMMENT: Final = Field(
    name="AdminComment",
    setting="admin_comment",
    owner_writes=False,
    guard="Slurm accepts this field only from operators, both at submission (before the script runs) and in updates",
)
COMMENT: Final = Field(
    name="Comment",
    setting="comment",
    owner_writes=True,
    guard="a limit that is read here counts as `stated`, which earns no points",
)
EXTRA: Final = Field(name="Extra", setting="extra", owner_writes=True, guard="as for Comment; Slurm 23.02 and later")
FIELDS: Final = (ADMIN_COMMENT, COMMENT, EXTRA)
