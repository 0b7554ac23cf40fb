"""The generated references: `python -m tools.docs` writes docs/cli.md, docs/config.md and others.

These two are made from the signatures of the commands and the comments of etc/adminkit.toml, not from what a release of
typer makes of them, so that they are the same everywhere.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from adminkit.cli.contents import app_of
from adminkit.render.frame import STYLES
from adminkit.reports.catalogue import SPECS
from adminkit.reports.listings import LISTINGS, SAME
from adminkit.reports.spec import ReportSpec
from tests.faults import page as faults_page
from tests.faults import results as faults
from tests.matrix import page, results
from tools import backfill, comment_words_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
APP = app_of()
NOTE = "<!-- Made by `python -m tools.docs`; edit {source} instead. -->"
#: What stands before the example of a command's help.
EXAMPLE = "\n\nExample: "
EXIT_CODES = {
    0: "ok",
    1: "error",
    2: "usage",
    3: "more rows rejected than `--max-rejected` allows",
    130: "interrupted",
}


@dataclass(frozen=True)
class Command:
    """A command or a group: its words, the function behind it, the names of the commands in it."""

    words: tuple[str, ...]
    function: Callable[..., Any] | None
    inside: tuple[str, ...] = ()
    help: str = ""  # of a group without a function

    @property
    def about(self) -> str:
        """What it is for, on one line."""
        return " ".join(self._said.partition(EXAMPLE)[0].split())

    @property
    def example(self) -> str:
        """A command line; "" for a group."""
        return self._said.partition(EXAMPLE)[2]

    @property
    def _said(self) -> str:
        return self.help if self.inside else inspect.getdoc(self.function) or ""


@dataclass(frozen=True)
class Parameter:
    """One argument or option as it is declared."""

    names: tuple[str, ...]  # none for an argument
    value: str  # the placeholder of its value; "" for a switch
    help: str
    default: str


@dataclass(frozen=True)
class Setting:
    """One key of adminkit.toml: its section ("" for the top), its default as TOML writes it, whether it is unset."""

    section: str
    key: str
    value: str
    unset: bool
    help: str

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}" if self.section else self.key

    @property
    def variable(self) -> str:
        return f"ADMINKIT_{self.name.replace('.', '_').upper()}"


def commands(group: typer.Typer = APP, words: tuple[str, ...] = ("adminkit",)) -> Iterator[Command]:
    """Every group and command, a group before what is in it, in the order of the help."""
    root = group.registered_callback.callback if group.registered_callback else None
    simple = [
        Command((*words, one.name or one.callback.__name__), one.callback)
        for one in group.registered_commands
        if one.callback
    ]
    groups = [(str(one.name), one.typer_instance) for one in group.registered_groups if one.typer_instance]
    about = group.info.help if isinstance(group.info.help, str) else ""
    yield Command(words, root, (*(one.words[-1] for one in simple), *(name for name, _ in groups)), about)
    yield from simple
    for name, inner in groups:
        yield from commands(inner, (*words, name))


def parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    """The parameters of a command, in the order of its signature."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if hint is typer.Context:
            continue
        declared = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        info = next((one for one in declared if isinstance(one, (OptionInfo, ArgumentInfo))), None)
        if info is None:
            raise TypeError(f"{function.__module__}.{name} is neither an option nor an argument")
        kind = get_args(hint)[0] if declared else hint
        kinds = [one for one in get_args(kind) if one is not NoneType] if isinstance(kind, UnionType) else [kind]
        kind = get_args(kinds[0])[0] if get_origin(kinds[0]) is list else kinds[0]
        # Trap: in Annotated[…, Option("--a", "-b")] typer keeps "--a" as the default until it builds the command.
        words = tuple(word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str))
        names = (words or (f"--{name.replace('_', '-')}",)) if isinstance(info, OptionInfo) else ()
        yield Parameter(names, _value(kind, info, name), info.help or "", _default(parameter.default))


def _value(kind: Any, info: OptionInfo | ArgumentInfo, name: str) -> str:
    if info.metavar:
        return info.metavar
    if kind is bool:
        return ""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    if isinstance(info, ArgumentInfo):
        return name.upper()
    return {int: "N", float: "X"}.get(kind, "TEXT")


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return "" if value is None or value is inspect.Parameter.empty or isinstance(value, bool) else str(value)


def cli() -> str:
    """docs/cli.md."""
    lines = ["# Commands", "", NOTE.format(source="adminkit/cli/"), ""]
    lines += [f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}."]
    lines += ["Every command has `--help` (`-h`). `adminkit --install-completion` sets up completion in the shell.", ""]
    for command in commands():
        taken = list(parameters(command.function)) if command.function else []
        arguments = [one for one in taken if not one.names]
        lines += [f"{'#' * min(len(command.words) + 1, 4)} {' '.join(command.words)}", "", command.about, ""]
        if command.inside:
            links = [f"[{name}](#{'-'.join((*command.words, name))})" for name in command.inside]
            lines += [f"Commands: {', '.join(links)}.", ""]
        else:
            usage = [
                *command.words,
                *(one.value for one in arguments),
                *(["[OPTIONS]"] if len(taken) > len(arguments) else []),
            ]
            lines += [f"    {' '.join(usage)}", *([f"    {command.example}"] if command.example else []), ""]
        if taken:
            lines += ["| | |", "|---|---|", *map(_row, taken), ""]
    return "\n".join(lines)


def _row(one: Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in one.names)
    value = f"`{_cell(one.value)}`" if one.value else ""
    default = f" Default: {one.default}." if one.default and one.names else ""
    return f"| {' '.join(part for part in (names, value) if part)} | {_cell(one.help)}{default} |"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def settings_head() -> str:
    """The comment at the head of etc/adminkit.toml."""
    lines = (ROOT / "etc" / "adminkit.toml").read_text().splitlines()
    return " ".join(line.removeprefix("# ") for line in lines[: lines.index("")])


def settings() -> Iterator[Setting]:
    """Every key of etc/adminkit.toml with the comment above it."""
    section, said = "", list[str]()
    for line in (ROOT / "etc" / "adminkit.toml").read_text().splitlines():
        key, found, value = line.removeprefix("#").partition(" = ")
        if line.startswith("# "):
            said.append(line.removeprefix("# "))
            continue
        if line.startswith("["):
            section = line.strip("[]")
        elif found:
            tomllib.loads(f"{key} = {value}")
            yield Setting(section, key, value, line.startswith("#"), " ".join(said))
        said = []


def config() -> str:
    """docs/config.md, from the comments of etc/adminkit.toml."""
    out = ["# Configuration", "", NOTE.format(source="etc/adminkit.toml"), "", settings_head(), ""]
    out += ["| key | default | in the environment | meaning |", "|---|---|---|---|"]
    for one in settings():
        default = f"unset; e.g. `{one.value}`" if one.unset else f"`{one.value}`"
        out.append(f"| `{one.name}` | {default} | `{one.variable}` | {_cell(one.help)} |")
    out += [
        "",
        "adminkit rejects a settings file with an unknown key, a value of the wrong kind, or text that is not TOML.",
        "The error names the file and the key and, for an unknown key, the nearest valid key. `adminkit doctor` says",
        "which file is in use.",
        "",
    ]
    return "\n".join(out)


def releases() -> str:
    """docs/releases.md, from the stored results."""
    return page.markdown(results.load())


def reliability() -> str:
    """docs/reliability.md, from the stored results."""
    return faults_page.markdown(faults.load())


def comment_words() -> str:
    """docs/comment-words.md, from the registry."""
    return comment_words_page.markdown(NOTE.format(source="adminkit/trace/comment_words.py"))


def reports(specs: Sequence[ReportSpec[Any]] = SPECS) -> str:
    """docs/reports.md, from the specs of the reports."""
    lines = ["# Reports", "", NOTE.format(source="adminkit/reports/"), ""]
    lines += [
        "These are the columns of every report, whether it is printed as a table, JSON, CSV, Markdown or HTML, or read"
    ]
    lines += ["[from Python](python.md) as a DataFrame. The page of a report says what the report is for and how it is"]
    lines += ["computed, and has an example.", ""]
    for spec in specs:
        links = f"[More](reports/{spec.name}.md), [options](cli.md#adminkit-report-{spec.name})."
        lines += [f"## {spec.name}", "", f"{spec.help} {links}", ""]
        if spec.parts:
            lines += [
                f"`--by` sets what a row is: {_or(spec.parts)}. The value is in the column of that name.",
                "",
            ]
        lines += ["| column | unit | dtype | |", "|---|---|---|---|"]
        for one in spec.fields:
            dtype, unit = STYLES[one.style]
            lines.append(f"| `{one.name}` | {unit or '–'} | {dtype} | {_cell(one.help)} |")
        lines.append("")
    return "\n".join([*lines, *_listings()])


def _or(words: Sequence[str]) -> str:
    """The words as in a sentence: queue, user or class."""
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _listings() -> Iterator[str]:
    """The columns of what other commands list."""
    yield from (
        "## Other listings",
        "",
        "These are the columns of other commands that print lists, in the same formats.",
        "",
    )
    for listing in LISTINGS:
        anchor = f"adminkit {listing.command}".replace(" ", "-")
        same = [command for command, other in SAME.items() if other == f"{listing.command} {listing.when}".strip()]
        also = f" `adminkit {'`, `adminkit '.join(same)}` list the same." if len(same) > 1 else ""
        also = f" `adminkit {same[0]}` lists the same." if len(same) == 1 else also
        yield from (f"### {listing.command} {listing.when}".rstrip(), "", f"[Options](cli.md#{anchor}).{also}", "")
        yield from ("| column | unit | |", "|---|---|---|")
        for one in listing.fields:
            yield f"| `{one.name}` | {STYLES[one.style][1] or '–'} | {_cell(one.help)} |"
        yield ""


GENERATED: dict[str, Callable[[], str]] = {
    "cli.md": cli, "config.md": config, "releases.md": releases, "reliability.md": reliability,
    "comment-words.md": comment_words, "reports.md": reports,
    "backfill.svg": lambda: backfill.picture(backfill.ENGLISH),
    "backfill.ja.svg": lambda: backfill.picture(backfill.JAPANESE),
}  # fmt: skip


def into_build(name: str, write: Callable[[Path], None]) -> int:
    """What `python -m tools.NAME [DIR]` does: write into DIR, or into build/NAME."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / name
    write(folder)
    print(f"wrote {folder}", file=sys.stderr)
    return 0


def main() -> int:
    for name, make in GENERATED.items():
        (DOCS / name).write_text(make())
        print(f"wrote docs/{name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
