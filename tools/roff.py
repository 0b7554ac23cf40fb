"""The Markdown of docs/ as man(7): headings, paragraphs, lists, tables, code, links; no more than the docs use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

#: Code, bold, a link with its text, a picture with its words, or italics: whichever begins first.
_INLINE: Final = re.compile(
    r"(`+)(?P<code>.+?)\1|\*\*(?P<bold>.+?)\*\*|!?\[(?P<link>.+?)\]\([^)]*\)|\*(?P<italic>[^*]+)\*"
)
#: Where a line of Japanese may end: between any two characters, but not before what closes or after what opens.
_BREAK: Final = re.compile(
    r"(?<=[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff5e])(?<![「『（])"
    r"(?=[\u3001-\u30ff\u4e00-\u9fff\uff01-\uff5e])(?![、。」』），：ー・ぁぃぅぇぉっゃゅょァィゥェォッャュョ])"
)
_BULLET: Final = re.compile(r"(?P<mark>-|\d+\.) +")


def literal(text: str) -> str:
    """Text that is typed literally: a dash stays a dash, a caret a caret."""
    for plain, roff in (("\\", "\\e"), ("-", "\\-"), ("^", "\\(ha"), ("~", "\\(ti"), ("`", "\\(ga"), ("'", "\\(aq")):
        text = text.replace(plain, roff)
    return text


def prose(text: str) -> str:
    """One run of text with its code, bold and links. A link becomes its text; one in brackets is dropped."""
    text = re.sub(r" \(\[[^]]*\]\([^)]*\)\)", "", text)
    out, at = "", 0
    for found in _INLINE.finditer(text):
        out += _plain(text[at : found.start()])
        if found["code"]:
            out += bold(found["code"].strip())
        elif found["link"]:
            out += prose(found["link"])
        else:
            out += bold(found["bold"].strip("`")) if found["bold"] else f"\\fI{_plain(found['italic'])}\\fR"
        at = found.end()
    return out + _plain(text[at:])


def bold(text: str) -> str:
    return f"\\fB{literal(text)}\\fR"


def line(text: str) -> str:
    """A line of roff that cannot be taken for a request."""
    return f"\\&{text}" if text.startswith((".", "'")) else text


def entry(tag: str, text: str) -> list[str]:
    """A word and what it means, indented below it."""
    return [".TP", line(tag), line(text)]


def example(lines: Iterable[str]) -> list[str]:
    """Lines that keep their ends."""
    return [".PP", ".RS 4", ".EX", *(line(literal(one)) for one in lines), ".EE", ".RE"]


def blocks(text: str) -> list[str]:
    """The lines of man(7) for Markdown. A heading of two # is a section, of more a subsection."""
    return [made for kind, lines in _parts(text.splitlines()) for made in _block(kind, lines)]


def sections(text: str, level: int = 2) -> dict[str, str]:
    """The text below each heading of `level`, by heading, in order; "" has the text before the first."""
    out, name, fenced = {"": ""}, "", False
    for one in text.splitlines():
        fenced ^= one.startswith("```")
        if one.startswith("#" * level + " ") and not fenced:
            name = one[level + 1 :]
            out[name] = ""
        else:
            out[name] += one + "\n"
    return out


def _plain(text: str) -> str:
    return _BREAK.sub(r"\\:", text.replace("\\", "\\e"))


def _parts(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The blocks of a page, each with its kind."""
    at = 0
    while at < len(lines):
        start, kind = at, _kind(lines[at])
        at += 1
        if kind == "fence":
            at = lines.index("```", at) + 1
            yield "code", lines[start + 1 : at - 1]
        elif kind in ("blank", "heading"):
            yield kind, [lines[start]]
        else:  # a bullet's second line is indented like code; a bullet after a bullet is a block of its own
            ends = ("blank", "heading", "fence", "bullet") if kind == "bullet" else ("blank", "heading", "fence")
            while at < len(lines) and _kind(lines[at]) not in ends:
                at += 1
            yield kind, lines[start:at]


def _kind(text: str) -> str:
    if not text.strip():
        return "blank"
    if text.startswith("    "):
        return "code"
    if _BULLET.match(text):
        return "bullet"
    return {"`": "fence" if text.startswith("```") else "text", "#": "heading", "|": "table"}.get(text[0], "text")


def _block(kind: str, lines: list[str]) -> list[str]:
    if kind == "heading":
        marks, _, name = lines[0].partition(" ")
        if marks == "##":
            name = name.replace("`", "").replace("\\", "\\e")
            return [f".SH {name.upper() if name.isascii() else name}"]
        return [f".SS {prose(name)}"]
    if kind == "code":
        indented = all(one.startswith("    ") for one in lines)
        return example(one[4:] if indented else one for one in lines)
    if kind == "bullet":
        found = _BULLET.match(lines[0])
        mark = "\\(bu 2" if lines[0].startswith("-") else f"{found['mark'] if found else ''} 3"
        return [f".IP {mark}", line(prose(_joined([_BULLET.sub("", lines[0], count=1), *lines[1:]])))]
    if kind == "table":
        return _table([_cells(one) for one in lines])
    return [".PP", line(prose(_joined(lines)))] if kind == "text" else []


def _joined(lines: list[str]) -> str:
    return " ".join(one.strip() for one in lines)


def _cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]


def _table(rows: list[list[str]]) -> list[str]:
    """A row is an entry: its first cell the word, the cells of columns without a name the text, then the others.

    Each cell becomes a sentence; the last one does not where it is to be typed.
    """
    head, out = rows[0], []
    for row in rows[2:]:
        columns = sorted(zip(head[1:], row[1:], strict=True), key=lambda column: column[0] != "")
        said = [f"{name[:1].upper()}{name[1:]}: {cell}" if name else cell for name, cell in columns if cell]
        typed = said[-1:] if re.fullmatch("`[^`]+`", row[-1]) else []
        sentences = [one if one.endswith((".", "…", "。")) else f"{one}." for one in said[: len(said) - len(typed)]]
        out += entry(prose(row[0]), prose(" ".join([*sentences, *typed])))
    return out
