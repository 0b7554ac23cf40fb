"""The man pages: `python -m tools.man [DIR]` writes them into DIR, build/man unless it is named.

They are made like docs/cli.md and docs/config.md, from the commands themselves and the settings; what else they say is
in docs/man.md, docs/policy.md, docs/users.md, docs/users.ja.md, docs/checkpoint.md, docs/gpu-use.md, docs/io.md,
docs/staging.md and etc/plugstack.conf.d. SOURCE_DATE_EPOCH sets their date.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

import adminkit
from tools import docs, roff
from tools.docs import DOCS, ROOT, Command, Parameter

#: The sections after a page's own, in this order.
_LAST: Final = ("Environment", "Files", "Examples")
_CKPT: Final = (
    "In two lines",
    "What can be asked for",
    "What a program has to do",
    "What it costs, and what it cannot do",
    "For operators",
)
_GPU_USE: Final = (
    "Switch it on",
    "How it is computed",
    "What is not measured",
    "What it costs",
    "Prometheus",
)
_DATA: Final = (
    "In two lines",
    "What can be asked for",
    "What does not happen",
    "For operators: switch it on",
    "How it works",
)
_IO: Final = (
    "Switch it on",
    "How it is computed",
    "What is not seen",
    "What it costs",
    "What helps",
)

#: The headings of a page in Japanese, as other Japanese pages have them; man-db finds the name by the first.
_JAPANESE: Final = {"NAME": "名前", "DESCRIPTION": "説明", "SEE ALSO": "関連項目"}


def pages() -> dict[str, str]:
    """Every page by its file name: adminkit-sync.1; adminkit-users.ja.7, by which debhelper knows the language."""
    said = {name: roff.sections(text, 3) for name, text in roff.sections((DOCS / "man.md").read_text()).items()}
    every = list(docs.commands())
    made = {"adminkit(1)": _top(every)}
    for word, inside in groupby(every[1:], key=lambda one: one.words[1]):
        made[f"adminkit-{word}(1)"] = _group(list(inside))
    made["adminkit.toml(5)"] = _settings()
    made["adminkit-policy.toml(5)"] = _document("policy.md", "adminkit-policy.toml", "the rules at submission")
    made["adminkit-users(7)"] = _document("users.md", "adminkit-users", "time limits, for users of the cluster")
    made["adminkit_ckpt(8)"] = _document("checkpoint.md", "adminkit_ckpt", "the signal before the kill", _CKPT)
    made["adminkit_gpu_use(8)"] = _document("gpu-use.md", "adminkit_gpu_use", "how busy the GPUs of jobs are", _GPU_USE)
    made["adminkit_data(8)"] = _document("staging.md", "adminkit_data", "training data on the nodes of a job", _DATA)
    made["adminkit_io(8)"] = _document("io.md", "adminkit_io", "how often jobs wait for files", _IO)
    if strange := said.keys() - made.keys() - {""}:
        raise ValueError(f"docs/man.md has what is not a page: {', '.join(sorted(strange))}")
    made["adminkit_ckpt(8)"] += _plugstack("adminkit.conf")
    made["adminkit_gpu_use(8)"] += _plugstack("adminkit-gpu-use.conf")
    made["adminkit_data(8)"] += _plugstack("adminkit-data.conf")
    made["adminkit_io(8)"] += _plugstack("adminkit-io.conf")
    whole = {name: _whole(name, lines, made, said[name]) for name, lines in made.items()}
    users = _document("users.ja.md", "adminkit-users", "ジョブの制限時間(クラスタの利用者向け)")
    whole["adminkit-users.ja(7)"] = [
        f".SH {_JAPANESE[one.removeprefix('.SH ')]}" if one.removeprefix(".SH ") in _JAPANESE else one
        for one in _whole("adminkit-users(7)", users, made, said["adminkit-users(7)"])
    ]
    return {f"{name[:-3]}.{name[-2]}": "\n".join([*lines, ""]) for name, lines in whole.items()}


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


def _whole(name: str, lines: list[str], others: Iterable[str], said: dict[str, str]) -> list[str]:
    return [_title(name), *_placed(lines, said), *_see(name, others, said)]


def _title(name: str) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    head = f'.TH {roff.literal(name[:-3]).upper()} {name[-2]} {day} "adminkit {adminkit.__version__}" "adminkit"'
    return f"{head}\n.nh\n.ad l"


def _placed(lines: list[str], said: dict[str, str]) -> list[str]:
    """A page with its sections of docs/man.md: a description after the synopsis, the others at the end."""
    at = lines.index(".SH DESCRIPTION") + 1
    tail = [made for part in _LAST if part in said for made in (f".SH {part.upper()}", *roff.blocks(said[part]))]
    every = [*lines[:at], *roff.blocks(said.get("Description", "")), *lines[at:], *tail]
    return [one for before, one in pairwise(["", *every]) if one != ".PP" or not before.startswith((".SH", ".SS"))]


def _see(name: str, others: Iterable[str], said: dict[str, str]) -> list[str]:
    """See also: adminkit(1) names every page; each page names adminkit(1) and those that docs/man.md names."""
    words = [one.strip() for one in said["See also"].split(",")]
    names = [*([one for one in others if one != name] if name == "adminkit(1)" else ["adminkit(1)"]), *words]
    lines = [f".BR {roff.literal(one[:-3])} {one[-3:]}," for one in names]
    return [".SH SEE ALSO", *lines[:-1], lines[-1].removesuffix(",")]


def _name(name: str, about: str) -> list[str]:
    """Trap: lexgrog, which makes whatis, reads this line without knowing where a line may end."""
    return [".SH NAME", f"{roff.literal(name)} \\- {roff.prose(about)}".replace("\\:", "")]


def _top(every: list[Command]) -> list[str]:
    """adminkit(1): every command with a line of what it does."""
    out = _name("adminkit", "the Slurm operator's kit for honest time limits")
    out += [
        ".SH SYNOPSIS",
        ".SY adminkit",
        "\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
        ".YS",
        ".SH DESCRIPTION",
        ".SH COMMANDS",
    ]
    for one in (command for command in every if not command.inside):
        page = f"See \\fBadminkit\\-{roff.literal(one.words[1])}\\fR(1)." if len(one.words) == 2 else ""
        out += roff.entry(roff.bold(" ".join(one.words[1:])), f"{roff.prose(one.about)} {page}".strip())
    return [*out, *_options(every[0]), *_status()]


def _group(inside: list[Command]) -> list[str]:
    """The page of a command, or of a group with a subsection for each command in it."""
    first, commands = inside[0], [one for one in inside if not one.inside]
    name = "-".join(first.words)
    out = _name(name, _short(first.about))
    out += [".SH SYNOPSIS", *(made for one in commands for made in _usage(one))]
    out.append(".SH DESCRIPTION")
    if first.inside:
        out.append(".SH COMMANDS")
        for one in commands:
            out += [f".SS {roff.literal(' '.join(one.words))}", *_about(one), *_entries(one)]
    else:
        out += [*_about(first), *_options(first)]
    return [*out, *_status()]


def _about(one: Command) -> list[str]:
    return [roff.line(roff.prose(one.about)), *(roff.example([one.example]) if one.example else [])]


def _usage(one: Command) -> list[str]:
    taken = list(docs.parameters(one.function)) if one.function else []
    arguments = [f"\\fI{roff.literal(each.value)}\\fR" for each in taken if not each.names]
    return [f'.SY "{roff.literal(" ".join(one.words))}"', " ".join([*arguments, "[\\fIOPTIONS\\fR]"]), ".YS"]


def _options(one: Command) -> list[str]:
    helps = roff.entry(f"{roff.bold('--help')}, {roff.bold('-h')}", "Show what it takes.")
    return [".SH OPTIONS", *_entries(one), *helps]


def _entries(one: Command) -> Iterator[str]:
    for each in docs.parameters(one.function) if one.function else ():
        yield from _entry(each)


def _entry(one: Parameter) -> list[str]:
    names = ", ".join(roff.bold(name) for name in one.names)
    tag = " ".join(part for part in (names, f"\\fI{roff.literal(one.value)}\\fR" if one.value else "") if part)
    default = f" Default: {one.default}." if one.default and one.names else ""
    return roff.entry(tag, roff.prose(re.sub(r"\s+", " ", f"{one.help}{default}")))


def _status() -> list[str]:
    out = [".SH EXIT STATUS"]
    for code, meaning in docs.EXIT_CODES.items():
        out += roff.entry(roff.bold(str(code)), roff.prose(f"{meaning[:1].upper()}{meaning[1:]}."))
    return out


def _short(about: str) -> str:
    """The first sentence, as the line of a NAME has it."""
    first = re.split(r"\. |\.$", about)[0]
    return first[:1].lower() + first[1:]


def _settings() -> list[str]:
    out = [*_name("adminkit.toml", "adminkit's settings"), ".SH DESCRIPTION", roff.prose(docs.settings_head())]
    for section, inside in groupby(docs.settings(), key=lambda one: one.section):
        out.append(f".SH {roff.literal(f'[{section}]') if section else 'TOP'}")
        for one in inside:
            default = f"Unset by default; for instance {one.value}" if one.unset else f"Default: {one.value}"
            out += roff.entry(roff.bold(one.key), f"{roff.prose(one.help)} {roff.literal(default)}")
    return out


def _document(page: str, name: str, about: str, only: tuple[str, ...] | None = None) -> list[str]:
    """A page of docs/ as it is, or these sections of it."""
    parts = roff.sections((DOCS / page).read_text())
    opening = parts.pop("").partition("\n")[2]
    names = only or tuple(parts)
    out = [*_name(name, about), ".SH DESCRIPTION", *roff.blocks(opening)]
    return [*out, *(made for one in names for made in roff.blocks(f"## {one}\n{parts[one]}"))]


def _plugstack(name: str) -> list[str]:
    """The words of plugstack.conf, from the comments of the line that comes with adminkit."""
    out = [".SH PLUGSTACK.CONF", "After the name of the plugin, on the same line:"]
    for one in (ROOT / "etc/plugstack.conf.d" / name).read_text().splitlines():
        if found := re.match(r"#   (\S+(?: \S+)*)\s{2,}(\S.*)", one):
            out += roff.entry(roff.bold(found[1]), roff.prose(found[2]))
        elif found := re.match(r"# {10,}(\S.*)", one):
            out.append(roff.line(roff.prose(found[1])))
    return out


if __name__ == "__main__":
    sys.exit(docs.into_build("man", write))
