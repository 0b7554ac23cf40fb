"""A Report as one HTML page that needs nothing else: no script, no link, pictures inside."""

from __future__ import annotations

from datetime import tzinfo
from html import escape
from typing import Final

from adminkit.quote import clean
from adminkit.render.html_parts import figures, report_facts, table
from adminkit.render.html_style import CSS
from adminkit.render.report import Report

#: What a picture's numbers are under.
AS_A_TABLE: Final = "As a table"


def page(report: Report, tz: tzinfo | None) -> str:
    """The whole page. Needs matplotlib where the report has pictures."""
    title = escape(clean(report.meta.title))
    finding = report.pictures and f'<p class="finding">{escape(clean(report.pictures.title))}.</p>'
    pictures = f"<h2>Charts</h2>\n{figures(report.pictures, AS_A_TABLE, every=False)}" if report.pictures else ""
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
{report_facts(report.meta, tz)}
{table(report, tz)}
{pictures}
</body>
</html>
"""
