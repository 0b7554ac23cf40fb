"""A Document as one HTML file that needs nothing else. It has no script; what opens and closes is the browser's own.

The policy in its head forbids to load, send or run anything, whatever a name in it may smuggle in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from html import escape
from typing import Final

from adminkit.quote import clean
from adminkit.render.document import Document, Remark, Section
from adminkit.render.format import number as shown
from adminkit.render.html_parts import facts, figures, report_facts, table
from adminkit.render.html_style import CSS, DOCUMENT_CSS

#: Styles stand in the file; nothing else is allowed.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
#: Findings that are shown at once; the others open.
AT_ONCE: Final = 10
#: Rows of a table: shown at once, and at most.
OPEN_ROWS: Final = 8
MOST_ROWS: Final = 200

#: Called when a section is drawn, with how many are.
Drawn = Callable[[int], None]


def document_page(document: Document, tz: tzinfo | None, drawn: Drawn = lambda _: None) -> str:
    """The whole page. Needs matplotlib where a report has pictures."""
    title, words = _text(document.title), document.words
    notice = f'<p class="answer bad">{_text(document.notice)}</p>\n' if document.notice else ""
    return f"""<!DOCTYPE html>
<html lang="{document.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="generator" content="adminkit">
<title>{title}</title>
<style>{CSS}{DOCUMENT_CSS}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{facts(document.facts)}
</header>
<nav aria-label="{_text(words["contents"])}">
<ol>
{_contents(document)}</ol>
</nav>
<main>
{notice}{_findings(document)}
{"".join(_sections(document, tz, drawn))}{_nothing(document)}</main>
<footer><p class="note">{_text(document.warning)}</p></footer>
</body>
</html>
"""


def _text(text: str) -> str:
    return escape(clean(text))


def _contents(document: Document) -> str:
    words = document.words
    places = [("findings", words["findings"]), *((one.anchor, one.title) for one in document.sections)]
    places += [("nothing", words["nothing"])] if document.nothing else []
    return "".join(f'<li><a href="#{escape(anchor)}">{_text(title)}</a></li>\n' for anchor, title in places)


def _findings(document: Document) -> str:
    words, remarks = document.words, document.remarks
    lines = [*_opening("findings", words["findings"], words["findings_question"])]
    if remarks:
        lines.append(_remarks(remarks[:AT_ONCE], "remarks"))
    elif document.none:
        lines.append(f"<p>{_text(document.none)}</p>")
    if rest := remarks[AT_ONCE:]:
        more = _text(words["more_findings"].format(number=shown(len(rest))))
        lines.append(f"<details><summary>{more}</summary>{_remarks(rest, 'remarks')}</details>")
    if any(one.stake for one in remarks):
        lines += [f'<p class="note">{_text(note)}</p>' for note in (words["stake_note"], *document.unknown)]
    if document.good:
        lines.append(f"<h3>{_text(words['good'])}</h3>\n{_remarks(document.good, 'remarks good')}")
    return "\n".join([*lines, "</section>"])


def _opening(anchor: str, title: str, question: str) -> Iterator[str]:
    place = escape(anchor)
    yield f'<section id="{place}" aria-labelledby="{place}-title">\n<h2 id="{place}-title">{_text(title)}</h2>'
    if question:
        yield f'<p class="question">{_text(question)}</p>'


def _remarks(remarks: Sequence[Remark], style: str) -> str:
    return f'<ol class="{style}">\n' + "".join(f"<li>{''.join(_remark(one))}</li>\n" for one in remarks) + "</ol>"


def _remark(one: Remark) -> Iterator[str]:
    yield f"<b>{_text(one.sentence)}</b>"
    if one.stake:
        yield f'<span class="stake">{_text(one.stake)}</span>'
    if one.advice:
        yield f"<span>{_text(one.advice)}</span>"
    if one.command:
        yield f"<code>{_text(one.command)}</code>"


def _sections(document: Document, tz: tzinfo | None, drawn: Drawn) -> Iterator[str]:
    for number, one in enumerate(document.sections, start=1):
        yield _section(one, document, tz)
        drawn(number)


def _section(one: Section, document: Document, tz: tzinfo | None) -> str:
    words = document.words
    lines = [*_opening(one.anchor, one.title, one.question)]
    lines += [f'<p class="answer">{_text(answer)}</p>' for answer in one.answers]
    if one.failure:
        lines.append(f'<p class="bad"><b>{_text(words["failed"])}</b><br>{_text(one.failure)}</p>')
    if one.report is not None:
        lines += _shown(one, document, tz)
    if one.items:
        items = "".join(f"<li>{_text(item)}</li>\n" for item in one.items)
        lines.append(f"<h3>{_text(one.items_title)}</h3>\n<ol>\n{items}</ol>")
    if one.note:
        lines.append(f'<p class="note">{_text(one.note)}</p>')
    return "\n".join([*lines, "</section>\n"])


def _shown(one: Section, document: Document, tz: tzinfo | None) -> Iterator[str]:
    """The pictures, the table and the header of a section's report."""
    report, words = one.report, document.words
    if report is None:
        return
    if report.pictures:
        yield figures(report.pictures, words["numbers"], every=True, language=document.language)
    if rows := len(report.rows):
        opened = " open" if rows <= OPEN_ROWS else ""
        said = _text(words["table"].format(rows=shown(rows)))
        other = "" if document.language == "en" else ' lang="en"'
        yield f"<details{opened}><summary>{said}</summary><div{other}>{table(report, tz, MOST_ROWS)}</div>"
        if rows > MOST_ROWS:
            rest = words["rows_more"].format(number=shown(rows - MOST_ROWS), command=one.command)
            yield f'<p class="note">{_text(rest)}</p>'
        yield "</details>"
    counted = report_facts(report.meta, tz, words, document.language)
    yield f"<details><summary>{_text(words['counted'])}</summary>{counted}</details>"


def _nothing(document: Document) -> str:
    """One line for all that have nothing to say."""
    if not document.nothing:
        return ""
    said = "; ".join(f"<b>{_text(title)}</b>{f' ({_text(why)})' if why else ''}" for title, why in document.nothing)
    title = document.words["nothing"]
    return "\n".join([*_opening("nothing", title, ""), f"<p>{_text(title)}: {said}</p>\n</section>\n"])
