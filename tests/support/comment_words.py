"""The cases of tests/data/comment_words.tsv, and those that follow from the registry: a comment, and what its readers
make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

from adminkit.job import CKPT_ENDS
from adminkit.trace.comment_words import RECORD

TABLE: Final = Path(__file__).parents[1] / "data" / "comment_words.tsv"

#: at, heard, rq, end
Note = tuple[int, int, int, str | None]


@dataclass(frozen=True)
class Record:
    """The content of the policy's record. `more` has the keys behind the source that a parser reads today."""

    lim: str
    src: str
    more: dict[str, str]

    @property
    def limit(self) -> int | None:
        """limit_original, seconds: what does not fit in SQLite's integer is the largest one."""
        return min(int(self.lim), 2**63 - 1) if self.lim.isdigit() else None

    @property
    def source(self) -> str:
        return {"e": "explicit", "d": "default"}[self.src]


@dataclass(frozen=True)
class Case:
    comment: str
    record: Record | None
    note: Note | None
    why: str

    def __str__(self) -> str:
        return self.why


def _record(text: str) -> Record | None:
    if text == "-":
        return None
    lim, src, *more = text.split(" ")
    return Record(lim, src, {key: value for key, _, value in (item.partition("=") for item in more)})


def _note(text: str) -> Note | None:
    if text == "-":
        return None
    at, heard, requeues, end = text.split(" ")
    return int(at), int(heard), int(requeues), None if end == "-" else end


def _case(line: str) -> Case:
    comment, record, note, why = line.split("\t")
    return Case(comment.replace("\\n", "\n"), _record(record), _note(note), why)


#: A value of each key that may stand behind the source.
VALUES: Final = {
    "cls": "multi-node", "own": "node", "min": "300", "keep": "600", "soft": "1800", "el": "1-8", "ext": "auto",
    "rules": "gq-max+a.b_c",
}  # fmt: skip


def _of_the_registry() -> Iterator[Case]:
    """Each key behind the source alone, each two in either order, all of them; each end of a run."""
    optional = [key for key in RECORD.keys if not key.needed]
    for keys in [*((key,) for key in optional), *permutations(optional, 2), tuple(optional)]:
        text = "".join(f",{key.name}={VALUES[key.name]}" for key in keys)
        more = {key.name: VALUES[key.name] for key in keys if not key.reserved}
        in_order = sorted(keys, key=optional.index) == list(keys)
        why = f"{' before '.join(key.name for key in keys)}: {'in' if in_order else 'not in'} the registry's order"
        yield Case(f"ak1:lim=60,src=e{text} mine", Record("60", "e", more) if in_order else None, None, why)
    for end in CKPT_ENDS:
        yield Case(f"ck1:at=9,heard=1,rq=2,end={end}", None, (9, 1, 2, end), f"a run that ended so: {end}")


#: A comment; what the first word of an extension in it says, as asked, limit, times; why.
EXTENSIONS: Final[list[tuple[str, tuple[int, int, int] | None, str]]] = [
    ("xt1:asked=3600,lim=5400,n=2", (3600, 5400, 2), "the word"),
    ("xt1:asked=3600,lim=3600,n=0", (3600, 3600, 0), "everything was taken back"),
    ("ak1:lim=60,src=e,ext=auto ck1:at=9,heard=2,rq=1 xt1:asked=60,lim=120,n=1 mine", (60, 120, 1), "behind others"),
    ("xt1:asked=60,lim=120,n=1 ck1:at=9,heard=2,rq=1", (60, 120, 1), "before a note"),
    ("  xt1:asked=60,lim=120,n=1", (60, 120, 1), "behind any number of blanks"),
    ("xt1:asked=60,lim=120,n=1 xt1:asked=9,lim=10,n=1", (60, 120, 1), "the first counts"),
    ("xt1:asked=60,lim=120 xt1:asked=9,lim=10,n=1", (9, 10, 1), "the first that is whole"),
    ("xt1:asked=060,lim=0120,n=01", (60, 120, 1), "leading zeros"),
    (f"xt1:asked={'9' * 20},lim={'9' * 900},n={'9' * 11}", (2**63 - 1, 2**63 - 1, 2**32 - 1), "the largest that fit"),
    (f"xt1:asked={'0' * 900}60,lim=120,n=1", (60, 120, 1), "zeros without end"),
    ("xt1:asked=60,lim=120,n=1,x=2", None, "a key that nobody registered"),
    ("xt1:asked=60,lim=120,n=", None, "a key without a value"),
    ("xt1:asked=60,lim=,n=1", None, "an empty limit"),
    ("xt1:asked=-60,lim=120,n=1", None, "below 0"),
    ("xt1:asked=60,lim=inf,n=1", None, "not a number"),
    ("xt1:asked=6\u0660,lim=120,n=1", None, "a digit of another script"),
    ("xt1:lim=120,asked=60,n=1", None, "keys have an order"),
    ("XT1:asked=60,lim=120,n=1", None, "a prefix is small"),
    ("xt2:asked=60,lim=120,n=1", None, "a grammar of the future"),
    ("xxt1:asked=60,lim=120,n=1", None, "not a word's beginning"),
    ("mine\nxt1:asked=60,lim=120,n=1", None, "a newline begins no word"),
    ("xt1:asked=60,lim=120,n=1\n", None, "nor ends one"),
    ("ck1:xt1:asked=60,lim=120,n=1", None, "inside of another word"),
    ("ak1:lim=60,src=e,rules=xt1:asked=60,lim=120,n=1", None, "nor inside of a record"),
    ("", None, "no comment"),
]
TABLE_CASES: Final = [_case(line) for line in TABLE.read_text().splitlines() if not line.startswith("#")]
CASES: Final = [*TABLE_CASES, *_of_the_registry()]
