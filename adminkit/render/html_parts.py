"""What pages are made of: the table of a Report, its pictures with their numbers. Every text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from html import escape
from typing import Final

from adminkit.messages import Message, translated
from adminkit.quote import clean
from adminkit.render.format import cells, header
from adminkit.render.panel_numbers import Numbers, numbers
from adminkit.render.report import Boxes, Field, Heat, Meta, Panel, Pictures, Report, in_language

#: Characters of a cell, beyond which its text has several lines.
LONG: Final = 48
#: What a box that scrolls needs, so that a keyboard can scroll it.
_SCROLL: Final = '<div class="scroll" tabindex="0" role="region" aria-label="{}">'


def facts(lines: Sequence[tuple[str, str]]) -> str:
    """A list of names and what they say."""
    return _facts([(name, text, "") for name, text in lines])


def _facts(lines: Sequence[tuple[str, str, str]]) -> str:
    """The list of (a name, a text, the text's language where it is another than the page's)."""
    said = "\n".join(
        f"<dt>{escape(clean(name))}</dt><dd{_lang(language)}>{escape(clean(text))}</dd>"
        for name, text, language in lines
    )
    return f"<dl>\n{said}\n</dl>"


def _lang(language: str) -> str:
    return f' lang="{language}"' if language else ""


def report_facts(
    meta: Meta,
    tz: tzinfo | None,
    words: Mapping[str, str] | None = None,
    language: str = "en",
) -> str:
    """The header of a report, in the language of a page; `words` may have other names for its lines, as fact.NAME."""
    named, lines = words or {}, []
    for name, text in header(meta, tz):
        foreign = language != "en" and not isinstance(text, Message)
        lines.append((named.get(f"fact.{name}", name), translated(text, language), "en" if foreign else ""))
    return _facts(lines)


def table(report: Report, tz: tzinfo | None, most: int | None = None) -> str:
    """The table of a report; its first `most` rows, or all."""
    fields, rows, totals = cells(report, tz)
    head = "".join(
        f'<th scope="col"{_side(f)} title="{escape(f.help)}">{escape(f.name).replace("_", "_<wbr>")}</th>'
        for f in fields
    )
    foot = f"<tfoot>\n{_rows(fields, totals)}</tfoot>\n" if totals else ""
    return (
        f"{_SCROLL.format(escape(clean(report.meta.title)))}<table>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{_rows(fields, rows[:most])}</tbody>\n{foot}</table></div>"
    )


def _rows(fields: Sequence[Field], rows: Sequence[Sequence[str]]) -> str:
    return "".join(
        "<tr>" + "".join(_cell(field, cell) for field, cell in zip(fields, row, strict=True)) + "</tr>\n"
        for row in rows
    )


def _cell(field: Field, text: str) -> str:
    """Trap: a name of a thousand characters in one line keeps what follows it out of sight."""
    style = ' class="long"' if len(text) > LONG else _side(field)
    return f"<td{style}>{escape(text)}</td>"


def _side(field: Field) -> str:
    return "" if field.style == "text" else ' class="n"'


def figures(pictures: Pictures, summary: str, *, every: bool, language: str = "en") -> str:
    """Each picture with its title; with its numbers under `summary`: for `every` one, or only for matrices.

    What is said is in the language of the page, but for names.
    """
    from adminkit.render.figure import panels

    drawn, pictures = [], in_language(pictures, language)
    for panel, svg in zip(pictures.panels, panels(pictures, language), strict=True):
        title = clean(panel.title)
        subtitle = "" if isinstance(panel, Boxes) else clean(panel.subtitle)
        label = escape(". ".join(text for text in (title, subtitle) if text))
        svg = _themed(svg).replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        below = _numbers(panel, summary, language) if every or isinstance(panel, Heat) else ""
        caption = f"<figcaption><b>{escape(title)}</b>{escape(subtitle)}</figcaption>"
        drawn.append(f"<figure>{caption}\n{svg}{below}</figure>")
    caption = f'<p class="caption">{escape(clean(pictures.caption))}</p>' if pictures.caption else ""
    return f'<div class="panels">\n{"".join(drawn)}</div>\n{caption}'


def _numbers(panel: Panel, summary: str, language: str) -> str:
    """What is drawn as a table, for those who do not see it and for copying."""
    found: Numbers = numbers(panel, language)
    head = "".join(f'<th scope="col" class="n">{escape(clean(name))}</th>' for name in found.columns)
    rows = []
    for name, shown in found.rows:
        values = "".join(f'<td class="n">{_lines(cell)}</td>' for cell in shown)
        rows.append(f'<tr><th scope="row">{escape(clean(name))}</th>{values}</tr>\n')
    label = escape(f"{summary}: {clean(panel.title)}")
    caption = f"<caption>{escape(clean(found.caption))}</caption>\n" if found.caption else ""
    return (
        f"<details><summary>{escape(summary)}</summary>{_SCROLL.format(label)}<table>\n{caption}"
        f"<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table></div></details>"
    )


def _lines(cell: str) -> str:
    return "<br>".join(escape(clean(line)) for line in cell.split("\n"))


#: Taken out of matplotlib's SVG: its maker, and names of groups that nothing refers to and that would come twice.
_METADATA: Final = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_NAMED: Final = re.compile(r'<g id="[^"]*"')


def _themed(svg: str) -> str:
    """The picture's own colours replaced by the page's, so that it follows light, dark and print; no fixed size."""
    from adminkit.render import figure

    for name in ("ink", "muted", "grid", "paper", "ran", "asked", "fill"):
        svg = svg.replace(getattr(figure, name.upper()), f"var(--{name})")
    svg = _NAMED.sub("<g", _METADATA.sub("", svg))
    return re.sub(r' (?:width|height)="[0-9.]+pt"', "", svg, count=2)
