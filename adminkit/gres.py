"""What a list of TRES or GRES says of GPUs: whole ones, slices of MIG, shards, MPS, and how many GPUs they make.

The one home of these words in Python; tests/data/gres_words.tsv has the cases, which adminkit-ingest and the script of
job_submit run as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from annotated_types import Predicate

#: What Slurm calls a GPU of no type.
UNTYPED: Final = "gpu"
#: How a run's GPUs may be cut; `mixed` is several of these.
KINDS: Final = ("whole", "slice", "shard", "mps", "mixed")
#: The words of a text that names GPUs and cannot be read.
UNREADABLE: Final = "?"

#: Slurm's number for each plugin (gres_build_id), which old sacct has where it did not know the name.
_PLUGINS: Final = {"7696487": "gpu", "1918986455": "shard", "7565421": "mps"}
_NAMES: Final = ("gpu", "shard", "mps")
#: TRES ids since 1001 are a site's: GRES, licences, burst buffers. One without a name may be GPUs.
_SITES_OWN: Final = re.compile("[0-9]{4,}")
_MOST: Final = 2**63 - 1
#: Slurm's numbers for unset are the last ones of 32 and of 64 bits.
_UNSET: Final = (2**32 - 2, 2**32 - 1)
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_COUNT: Final = re.compile(r"([0-9]{1,20})([KMGTP]?)", re.IGNORECASE)
_PER: Final = re.compile(r"PER_(NODE|JOB|TASK|SOCKET):")
#: A profile of MIG as a word of a type: 3g.20gb, a100_1c.3g.20gb, 1g.10gb+me, a100_3g.20gb.shared.
_PROFILE: Final = re.compile(
    r"(?:^|[._-])(?:mig[._-]?)?((?:([1-9])c[._-]?)?([1-9])g[._-]?([0-9]+)gb)(?=[+._-]|\Z)", re.IGNORECASE
)
#: An item of GresUsed that is a part of GPUs.
_SHARED: Final = re.compile(
    r"(?:^|,)(?P<name>shard|mps):(?:(?P<kind>\(null\)|[^:(,]*[^:(,0-9][^:(,]*):)?(?P<count>[0-9]{1,15})"
    r"(?:\((?P<inside>[^)]*)\))?(?=,|$)"
)
#: How many slices of MIG a GPU of this name has; 7 for any other name.
_SLICES_BY_NAME: Final = (
    (re.compile(r"(?<![a-z0-9])a30(?![0-9])"), 4),
    (re.compile(r"pro[._ -]?6000"), 4),
    (re.compile(r"pro[._ -]?(?:4500|5000)"), 2),
)
#: The same by the profile's slices and its memory, where no name says it; None: GPUs with 7, 4 and 2 slices have it.
_SLICES_BY_PROFILE: Final[Mapping[tuple[int, int], int | None]] = {
    **dict.fromkeys(((1, 6), (2, 12), (4, 24), (4, 96)), 4),
    **dict.fromkeys(((1, 16), (2, 32)), 2),
    **dict.fromkeys(((1, 24), (2, 48)), None),
}
_MOST_SLICES: Final = 7


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs as a text has them, by type; UNTYPED for those without one. `per`: job, node, task or socket."""

    types: Mapping[str, int] = field(default_factory=dict)  # whole GPUs and slices
    shards: Mapping[str, int] = field(default_factory=dict)
    mps: Mapping[str, int] = field(default_factory=dict)
    per: str = "job"

    @property
    def whole(self) -> int:
        """GPUs that are not cut."""
        return sum(count for kind, count in self.types.items() if not is_slice(kind))

    @property
    def slices(self) -> int:
        """Slices of MIG, however large."""
        return sum(count for kind, count in self.types.items() if is_slice(kind))

    def held(self) -> Gpus:
        """What a job with this text holds: the shards and MPS that come with GPUs are those GPUs' own, not more."""
        return Gpus(self.types, per=self.per) if any(self.types.values()) else self

    @property
    def parts(self) -> str:
        """The words of what is not a whole GPU, sorted: `slice:a100_3g.20gb=2,shard=4`; empty for none."""
        slices = {f"slice:{kind}": count for kind, count in self.types.items() if is_slice(kind)}
        words = slices | _words("shard", self.shards) | _words("mps", self.mps)
        return ",".join(f"{word}={count}" for word, count in sorted(words.items()) if count)


@dataclass(frozen=True, slots=True)
class Shares:
    """What part of a GPU each word is, as far as the site's nodes and its config tell."""

    shards: Mapping[str, float] = field(default_factory=dict)  # of one GPU of a type; UNTYPED: of every GPU
    mps: Mapping[str, float] = field(default_factory=dict)  # the same; Slurm's own 100 where it is not given
    given: Mapping[str, float] = field(default_factory=dict)  # a slice's type, its profile, shard, shard:TYPE


def is_share(word: str) -> bool:
    """Whether `word` says what part of a GPU something is: a100_3g.20gb=0.5, shard=0.25."""
    name, _, share = word.partition("=")
    try:
        return bool(name.strip()) and 0 < float(share) <= 1
    except ValueError:
        return False


#: What part of a GPU a word of GRES is.
Share = Annotated[str, Predicate(is_share)]


@dataclass(frozen=True, slots=True)
class GpuSettings:
    """What cannot be told from accounting and the nodes: a section of the config."""

    shares: tuple[Share, ...] = ()  # of a GPU, by type of slice, profile, shard, shard:TYPE, mps or mps:TYPE
    tracked: bool | None = None  # whether accounting names GPUs; None: judged by the runs and slurm.conf

    def given(self) -> dict[str, float]:
        """`shares` by word."""
        return {name.strip(): float(share) for name, _, share in (one.partition("=") for one in self.shares)}


def parse_tres(text: str) -> Gpus | None:
    """AllocTRES and its like: cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=10G. None where GPUs are unknown: no text, or one of
    its words cannot be read.
    """
    found: dict[str, dict[str, int]] = {name: {} for name in _NAMES}
    for item in text.split(","):
        key, equals, value = item.partition("=")
        if not equals or _SITES_OWN.fullmatch(key):
            return None
        name, colon, kind = key.removeprefix("gres/").partition(":")
        if not key.startswith("gres/") or name not in _NAMES:
            continue
        count = _count(value)
        if count is None or (colon and not kind):
            return None
        _add(found[name], kind if colon else "", count, total=not colon)
    gpus, shards, mps = (_with_rest(found[name]) for name in _NAMES)
    return None if gpus is None or shards is None or mps is None else Gpus(gpus, shards, mps)


def parse_gres(text: str) -> Gpus | None:
    """--gres, ReqGRES and a node's Gres: gpu:2, gpu:a100:4(S:0-1), PER_NODE:gpu:1, shard:8. None as in parse_tres."""
    found: dict[str, dict[str, int]] = {name: {} for name in _NAMES}
    units = set()
    bare = re.sub(r"\([^)]*\)", "", text)  # "(null)", too, for no type
    if "(" in bare:
        return None
    for item in bare.split(","):
        unit = _PER.match(item)
        words = item[unit.end() :] if unit else item
        for prefix in ("gres:", "gres/"):
            words = words.removeprefix(prefix)
        name, *rest = re.split("[:=]", words)
        if not name:
            return None
        name = _PLUGINS.get(name, name)
        if name not in _NAMES:
            continue
        units.add(unit[1].lower() if unit else "node")
        one = _typed(rest)
        if one is None:
            return None
        _add(found[name], one[0], one[1])
    if len(units) > 1:
        return None
    return Gpus(found["gpu"], found["shard"], found["mps"], units.pop() if units else "node")


@dataclass(frozen=True, slots=True)
class Shared:
    """What of one kind of shards, or of MPS, is in use on a node. None: not said.

    `taken`: shards, or per cent; `gpus`: GPUs that are cut; `cards`: (in use, in all) of each GPU.
    """

    taken: int | None
    gpus: int | None
    cards: tuple[tuple[int, int], ...] | None = None


def parse_shared(text: str) -> dict[str, Shared]:
    """GresUsed: `shard`, `shard:TYPE`, `mps` … -> what is in use.

    Trap: 22.05 counts the GPUs, shard:(null):2(IDX:0-1); later releases count shards, shard:(null):5(3/4,2/4).
    """
    found = {}
    for match in _SHARED.finditer(text):
        kind, count, inside = match["kind"], int(match["count"]), match["inside"] or ""
        if inside.startswith("IDX:"):
            one = Shared(None if count else 0, count)
        elif cards := tuple((int(used), int(of)) for used, of in re.findall(r"(\d+)/(\d+)", inside)):
            one = Shared(count, sum(used > 0 for used, _ in cards), cards)
        else:
            one = Shared(count, None if count else 0)
        found[match["name"] if kind in (None, "(null)") else f"{match['name']}:{kind}"] = one
    return found


def is_slice(kind: str) -> bool:
    """Whether this type of GPU is a slice of MIG: one of its words is a profile such as 3g.20gb."""
    return _PROFILE.search(kind) is not None


def equivalents(whole: int, words: str, shares: Shares) -> float | None:
    """How many GPUs these whole ones and these words (`Gpus.parts`, `N*` before it for each of N nodes) make."""
    nodes, rest = _nodes(words)
    total = 0.0
    for word in rest:
        name, equals, count = word.rpartition("=")
        share = _share(name, shares) if equals else None
        if share is None:
            return None
        total += share * int(count)
    return whole + total * nodes


def kind(whole: int, words: str) -> str | None:
    """One of KINDS; None for no GPU, and for words that cannot be read."""
    if words == UNREADABLE:
        return None
    kinds = {re.split("[:=]", word)[0] for word in _nodes(words)[1]}
    kinds |= {"whole"} if whole else set()
    return "mixed" if len(kinds) > 1 else kinds.pop() if kinds else None


def parse_words(words: str) -> tuple[int, int, int]:
    """How many slices, shards and MPS these words are (as of `equivalents`)."""
    nodes, rest = _nodes(words)
    counts = dict.fromkeys(("slice", "shard", "mps"), 0)
    for word in rest:
        name, _, count = word.rpartition("=")
        counts[name.partition(":")[0]] += int(count) * nodes
    return counts["slice"], counts["shard"], counts["mps"]


def slice_share(kind: str) -> float | None:
    """What part of its GPU a slice of this type is; None where that cannot be known, and for what is not a slice."""
    match = _PROFILE.search(kind)
    if not match:
        return None
    slices, head, name = int(match[3]), kind[: match.start(1)].lower(), kind.lower()
    by_profile = _SLICES_BY_PROFILE.get((slices, int(match[4])), _MOST_SLICES)
    by_name = [many for pattern, many in _SLICES_BY_NAME if pattern.search(name)]
    of = by_name[0] if by_name else _MOST_SLICES if re.sub("nvidia|mig|[._-]", "", head) else by_profile
    return None if of is None or slices > of else int(match[2] or slices) / of


def _nodes(words: str) -> tuple[int, list[str]]:
    """`3*shard=2,mps=50` -> 3 and its words."""
    match = re.match(r"([0-9]+)\*", words)
    rest = words[match.end() :] if match else words
    return int(match[1]) if match else 1, rest.split(",") if rest else []


def _share(name: str, shares: Shares) -> float | None:
    """What part of a GPU one of this word is: slice:TYPE, shard, shard:TYPE, mps, mps:TYPE."""
    sort, _, kind = name.partition(":")
    if sort == "slice":
        profile = _PROFILE.search(kind)
        keys = (kind, f"{profile[3]}g.{profile[4]}gb" if profile and not profile[2] else kind)
    else:
        keys = (name, sort)
    for key in keys:
        if key in shares.given:
            return shares.given[key]
    if sort == "slice":
        return slice_share(kind)
    many = shares.shards if sort == "shard" else shares.mps
    per_gpu = many.get(kind or UNTYPED, many.get(UNTYPED, 100.0 if sort == "mps" else 0.0))
    return 1 / per_gpu if per_gpu > 0 else None


def _typed(words: list[str]) -> tuple[str, int] | None:
    """[], [2], [a100], [a100, 2] -> the type and the count; None for anything else."""
    if not words:
        return "", 1
    count = _count(words[-1])
    if len(words) == 1:
        return (words[0], 1) if count is None and words[0] else None if count is None else ("", count)
    return (words[0], count) if len(words) == 2 and count is not None else None


def _count(text: str) -> int | None:
    match = _COUNT.fullmatch(text)
    if not match:
        return None
    number = int(match[1]) << _UNITS[match[2].upper()]
    return None if number in _UNSET or number > _MOST else number


def _add(counts: dict[str, int], kind: str, count: int, total: bool = False) -> None:
    """Counts of a type add up; a total is the last one."""
    key = kind or UNTYPED
    counts[key] = count if total else counts.get(key, 0) + count


def _with_rest(counts: dict[str, int]) -> dict[str, int] | None:
    """A total made the count of those without a type; None where it is less than the types add up to."""
    typed = {kind: count for kind, count in counts.items() if kind != UNTYPED}
    rest = counts.get(UNTYPED, sum(typed.values())) - sum(typed.values())
    return None if rest < 0 else typed | ({UNTYPED: rest} if rest else {})


def _words(name: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {name if kind == UNTYPED else f"{name}:{kind}": count for kind, count in counts.items()}
