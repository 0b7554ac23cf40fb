"""A Report as one HTML page that needs nothing else: no script, no link, pictures inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo
from html import escape
from typing import Final

from adminkit.quote import clean
from adminkit.render.format import cells, header, in_cell, plural
from adminkit.render.report import Boxes, Field, Heat, Pictures, Report

CSS: Final = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #646b73; --grid: #e3e5e8; --paper: #ffffff;
  --ran: #0072b2; --asked: #d55e00; --fill: #cfe3f1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --muted: #9aa3ad; --grid: #33383f; --paper: #16191d;
  --ran: #56b4e9; --asked: #e69f00; --fill: #23475c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.2rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2rem 0 .3rem; }
.finding { font-size: 1.15rem; margin: 0 0 1rem; color: var(--muted); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; font-size: .88rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .3rem .5rem; text-align: left; border-bottom: 1px solid var(--grid); }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
th.n, td.n { text-align: right; }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--paper); }
tfoot td { font-weight: 600; } tfoot tr:first-child td { border-top: 2px solid var(--muted); }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.4rem; }
figure { margin: 0; break-inside: avoid; }
figcaption b { display: block; } figcaption { font-size: .9rem; color: var(--muted); }
figcaption b { color: var(--ink); }
svg { width: 100%; height: auto; max-width: 34rem; display: block; }
svg text { font-family: system-ui, "DejaVu Sans", sans-serif !important; }
.caption { font-size: .85rem; color: var(--muted); max-width: 50rem; }
@media print { :root { --ink: #000; --muted: #444; --grid: #ccc; --paper: #fff; --ran: #0072b2; --asked: #d55e00;
  --fill: #cfe3f1; } body { max-width: none; padding: 0; } .scroll { overflow: visible; }
  .panels { grid-template-columns: 1fr 1fr; }
  table { font-size: .55rem; } th, td { padding: .15rem .25rem; } }
"""


def page(report: Report, tz: tzinfo | None) -> str:
    """The whole page. Needs matplotlib where the report has pictures."""
    title = escape(clean(report.meta.title))
    finding = report.pictures and f'<p class="finding">{escape(clean(report.pictures.title))}.</p>'
    facts = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in header(report.meta, tz))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="adminkit">
<title>{title}</title>
<style>{CSS}</style>
</head>
<body>
<h1>{title}</h1>
{finding or ""}
<dl>
{facts}
</dl>
{_table(report, tz)}
{_pictures(report.pictures) if report.pictures else ""}
</body>
</html>
"""


def _table(report: Report, tz: tzinfo | None) -> str:
    fields, rows, totals = cells(report, tz)
    head = "".join(
        f'<th scope="col"{_side(f)} title="{escape(f.help)}">{escape(f.name).replace("_", "_<wbr>")}</th>'
        for f in fields
    )
    return (
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{_rows(fields, rows)}</tbody>\n<tfoot>\n{_rows(fields, totals)}</tfoot>\n</table></div>"
    )


def _rows(fields: Sequence[Field], rows: Sequence[Sequence[str]]) -> str:
    return "".join(
        "<tr>" + "".join(f"<td{_side(f)}>{escape(cell)}</td>" for f, cell in zip(fields, row, strict=True)) + "</tr>\n"
        for row in rows
    )


def _side(field: Field) -> str:
    return "" if field.style == "text" else ' class="n"'


def _pictures(pictures: Pictures) -> str:
    from adminkit.render.figure import panels

    figures = []
    for panel, svg in zip(pictures.panels, panels(pictures), strict=True):
        title = clean(panel.title)
        subtitle = "" if isinstance(panel, Boxes) else clean(panel.subtitle)
        label = escape(". ".join(text for text in (title, subtitle) if text))
        svg = _themed(svg).replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        numbers = _numbers(panel) if isinstance(panel, Heat) else ""
        caption = f"<figcaption><b>{escape(title)}</b>{escape(subtitle)}</figcaption>"
        figures.append(f"<figure>{caption}\n{svg}{numbers}</figure>")
    caption = f'<p class="caption">{escape(clean(pictures.caption))}</p>' if pictures.caption else ""
    return f'<h2>Pictures</h2>\n<div class="panels">\n{"".join(figures)}</div>\n{caption}'


def _numbers(panel: Heat) -> str:
    """The cells of a heat map as a table, for those who do not see it and for copying."""
    head = "".join(f'<th scope="col" class="n">{escape(clean(name))}</th>' for name in panel.columns)
    rows = []
    for name, values, counts in zip(panel.rows, panel.values, panel.counts, strict=True):
        shown = [
            "" if value is None else f"{escape(in_cell(value, panel))}<br>{plural(jobs, 'job')}"
            for value, jobs in zip(values, counts, strict=True)
        ]
        cells = "".join(f'<td class="n">{cell}</td>' for cell in shown)
        rows.append(f'<tr><th scope="row">{escape(clean(name))}</th>{cells}</tr>\n')
    axes = escape(f"{clean(panel.row_axis)}; {clean(panel.column_axis)}")
    return (
        f'<details><summary>As a table</summary><div class="scroll" tabindex="0"><table>\n<caption>{axes}</caption>\n'
        f"<thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table></div></details>"
    )


def _themed(svg: str) -> str:
    """The picture's own colours replaced by the page's, so that it follows light, dark and print; no fixed size."""
    from adminkit.render import figure

    for name in ("ink", "muted", "grid", "paper", "ran", "asked", "fill"):
        svg = svg.replace(getattr(figure, name.upper()), f"var(--{name})")
    return re.sub(r' (?:width|height)="[0-9.]+pt"', "", svg, count=2)
