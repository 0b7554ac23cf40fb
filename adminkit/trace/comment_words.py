"""The registry of the words that adminkit leaves in a job's comment. docs/comment-words.md is made of it.

The grammar is written three times more: in the job_submit script (record.lua), in the checkpoint plugin (note.c) and in
adminkit-ingest (comment_words.c). The cases of tests/data/comment_words.tsv hold all four together. A word that is to
come has its name, its keys and its owner here before anybody writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adminkit.job import CKPT_ENDS, CLASSES

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
class Word:
    """`prefix:` and the keys in this order, joined by commas, up to a blank or the comment's end."""

    prefix: str
    meaning: str
    keys: tuple[Key, ...]
    fields: tuple[Field, ...]
    place: str  # where in the field a parser looks for it
    writer: str  # the only one who writes it
    readers: tuple[str, ...]
    longest: int  # bytes
    claim: str = ""  # what in it is the user's word all the same, and what follows from that
    reserved: bool = False  # to every parser somebody's word, and nobody writes it yet


ADMIN_COMMENT: Final = Field(
    name="AdminComment",
    setting="admin_comment",
    owner_writes=False,
    guard="Slurm takes it from operators alone; it refuses others at submission, before the script, and in updates",
)
COMMENT: Final = Field(
    name="Comment",
    setting="comment",
    owner_writes=True,
    guard="a limit that is read here is `stated`, which is worth no points",
)
EXTRA: Final = Field(name="Extra", setting="extra", owner_writes=True, guard="as Comment; Slurm 23.02 and later")
FIELDS: Final = (ADMIN_COMMENT, COMMENT, EXTRA)

_SCRIPT: Final = "the job_submit script"
_PLUGIN: Final = "the checkpoint plugin"
_INGEST: Final = "sync and import"
_ELASTIC: Final = "`adminkit elastic`"
_FIRST_WHOLE: Final = "the first word that is whole"
_NUMBER: Final = "[0-9]+"
_TEXT: Final = "[A-Za-z0-9_.+-]+"
#: Slurm's longest limit, 4294967293 minutes, in seconds.
_LIMIT_DIGITS: Final = len(str(4_294_967_293 * 60))

RECORD: Final = Word(
    prefix="ak1",
    meaning="what was asked for before the policy changed it",
    keys=(
        Key(
            name="lim",
            values="[0-9]+|none|inf",
            longest=_LIMIT_DIGITS,
            meaning="the limit in seconds; `none`: not given; `inf`: unlimited",
            needed=True,
        ),
        Key(
            name="src", values="[ed]", longest=1, meaning="`d` with `lim=none`, else `e`: the user gave it", needed=True
        ),
        Key(name="cls", values=_TEXT, longest=max(map(len, CLASSES)), meaning="the class that points were given for"),
        Key(name="own", values="node", longest=4, meaning="the job takes whole nodes"),
        Key(
            name="min",
            values=_NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the user's own `--time-min` in seconds, whatever became of it",
        ),
        Key(
            name="keep",
            values=_NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the same, where backfill plans with it, in seconds, no less than the site's least",
        ),
        Key(
            name="soft",
            values=_NUMBER,
            longest=_LIMIT_DIGITS,
            meaning="the soft limit that the policy gave, in seconds: backfill's, never the user's word",
        ),
        Key(
            name="el",
            values="[0-9]+-[0-9]+",
            longest=11,
            meaning="the least and the most GPUs that an elastic job may be given, where AdminComment has the record",
        ),
        Key(
            name="rules",
            values=_TEXT,
            longest=COMMENT_MAX,
            meaning="the rules that amended or warned, joined by `+`; left out where the word would be too long",
        ),
    ),
    fields=FIELDS,
    place="the first word",
    writer=_SCRIPT,
    readers=(_SCRIPT, _INGEST, "incentives", _ELASTIC),
    longest=COMMENT_MAX,
)
NOTE: Final = Word(
    prefix="ck1",
    meaning="whether the signal before the limit arrived, and what became of the run",
    keys=(
        Key(name="at", values=_NUMBER, longest=19, meaning="when the signal was sent, epoch seconds", needed=True),
        Key(name="heard", values=_NUMBER, longest=10, meaning="how many processes got it", needed=True),
        Key(name="rq", values=_NUMBER, longest=10, meaning="how often adminkit has requeued the job", needed=True),
        Key(
            name="end",
            values="|".join(CKPT_ENDS),
            longest=max(map(len, CKPT_ENDS)),
            meaning="what became of the run; absent while it goes on",
        ),
    ),
    fields=(ADMIN_COMMENT,),
    place=_FIRST_WHOLE,
    writer=_PLUGIN,
    readers=(_PLUGIN, _INGEST),
    longest=69,
)
PROGRESS: Final = Word(
    prefix="pf1",
    meaning="how far the program came",
    keys=(Key(name="it", values=_NUMBER, longest=20, meaning="iterations that are done", needed=True),),
    fields=(ADMIN_COMMENT,),
    place=_FIRST_WHOLE,
    writer=_PLUGIN,
    readers=(_PLUGIN, "the view run"),
    longest=27,
    claim="the number comes from a file of the user's: it is shown as a claim; no points, price or rule depend on it",
)
ORDER: Final = Word(
    prefix="el1",
    meaning="the order to go on with another number of GPUs",
    keys=(
        Key(name="gpus", values=_NUMBER, longest=4, meaning="GPUs of the job's one node", needed=True),
        Key(name="until", values=_NUMBER, longest=12, meaning="epoch seconds: later it is void", needed=True),
    ),
    fields=(ADMIN_COMMENT,),
    place=_FIRST_WHOLE,
    writer=_ELASTIC,
    readers=(_PLUGIN, _ELASTIC),
    longest=32,
)
STAGING: Final = Word(
    prefix="st1",
    meaning="what was copied to the nodes before the tasks started",
    keys=(
        Key(name="bytes", values=_NUMBER, longest=19, meaning="bytes copied", needed=True),
        Key(name="s", values=_NUMBER, longest=10, meaning="seconds that the copy took", needed=True),
        Key(name="hit", values=_NUMBER, longest=10, meaning="nodes that had the data already", needed=True),
    ),
    fields=(ADMIN_COMMENT,),
    place=_FIRST_WHOLE,
    writer="the staging plugin",
    readers=(),
    longest=57,
    reserved=True,
)
WORDS: Final = (RECORD, NOTE, PROGRESS, ORDER, STAGING)
