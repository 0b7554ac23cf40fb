"""Plain English: no message, help text, docstring or comment has a word order carried over from another language."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from babel.messages.pofile import read_po

ROOT: Final = Path(__file__).resolve().parent.parent

#: The turn of phrase -> what finds it, and what to write instead.
PATTERNS: Final = {
    "is no X": (
        r"(?<![Tt]here )\b(?:is|are|was|were) no "
        r"(?!longer|more|less|fewer|later|earlier|better|worse|doubt)[\w{]+",
        '"is not an X", "there is no X", "has no X"',
    ),
    "so many": (
        r"\b[Ss]o (?:many|long|few|much)\b(?! (?:that|as)\b)",
        "the number's name, or a number",
    ),
    "of ours": (r"\bof (?:ours|theirs)\b", "whose it is: our word, their jobs"),
    "Of …": (
        r"(?:^|[.:;] )Of\b",
        "the subject first",
    ),
    "alone": (r"\b[Aa]lone\b", '"only"'),
    "go on": (r"\b(?:go|goes|gone|going|went) on\b", '"continue", "resume"'),
    "from X on": (
        r"\b[Ff]rom (?!now\b|then\b)(?:[\w{}.]+ on\b|(?:[\w{}.]+ ){2,3}on\b(?=[.,;:)]))",
        '"since X", "after X"',
    ),
    "knows nothing": (r"\bknows? nothing of\b", '"has no data for"'),
    "is none": (r"(?<![Tt]here )\bis none\b", "what it is not"),
    "anew": (r"\banew\b", '"again"'),
    "look whether": (r"\b[Ll]ook(?:s|ed)? whether\b", '"check that", "check whether"'),
    "add up over": (r"\badd(?:s|ed)? up over\b", '"aggregate over"'),
    "that long ago": (r"\bthat long (?:ago|before)\b", '"counted back from now"'),
    "as long again": (r"\bas long (?:a time )?again\b", '"over another period of the same length"'),
    "has ends": (r"\bhas ends\b", "what ended, and when"),
    "nobody says": (r"\b[Nn]obody says\b", '"is not recorded"'),
    "in the median": (r"\bin the median\b", "the median of what"),
    "has not been run": (r"\bhas not been run\b", '"is untested"'),
    "who asks": (
        r"(?:^|[.:;] )[Ww]ho (?:asks|needs|wants|knows|would)\b",
        "whose they are: jobs that ask, users who need",
    ),
}
#: What is English, or a name, though a pattern finds it -> why.
EXCEPTIONS: Final = {
    r"`[^`]*`": "names of the code",
    r"\b(?:left|let|leaves?) (?:[^.:;,]{0,80} )?alone\b": "not touched",
    r"alone = true": "a key of scenarios.toml",
    r"differ so much in how long they take": "followed by: that",
    r"Of the %\(tasks\)s tasks? of your array": "a share of them",
    r"Of these, %\(hours\)s are": "a share of them",
    r"\{%[^%]*%\}": "a template's code",
    r"\btls is none\b": "a value of the setting",
    r"Who would pay more, who less": "a question that a command answers",
}


class Text(NamedTuple):
    """A text that people read, and the line of the file where it begins."""

    line: int
    text: str


def joined(rows: Iterable[tuple[int, str]]) -> Iterator[Text]:
    """Rows of adjacent lines as one text."""
    begin, last, words = 0, -1, list[str]()
    for line, text in rows:
        if line != last + 1 and words:
            yield Text(begin, "\n".join(words))
            words = []
        begin = begin if words else line
        words.append(text)
        last = line
    if words:
        yield Text(begin, "\n".join(words))


def of_python(source: str) -> Iterator[Text]:
    """Every comment and string; {} stands for a value of an f-string."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from joined((one.start[0], one.string.lstrip("#: ")) for one in tokens if one.type == tokenize.COMMENT)
    inside = set[ast.AST]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            yield Text(node.lineno, "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield Text(node.lineno, node.value)


def of_code(comment: str, source: str) -> Iterator[Text]:
    """Every string and comment of C or Lua; `comment` matches a comment, and its groups the words of it."""
    comments = list[tuple[int, str]]()
    for match in re.finditer(rf'"((?:[^"\\\n]|\\.)*)"|{comment}', source):
        line = source.count("\n", 0, match.start()) + 1
        words = next(group for group in match.groups() if group is not None)
        if match[1] is not None:
            yield Text(line, words)
        else:
            comments.append((line, re.sub(r"\n\s*\* ?", "\n", words).strip()))
    yield from joined(comments)


def of_c(source: str) -> Iterator[Text]:
    return of_code(r"/\*((?:.|\n)*?)\*/|//([^\n]*)", source)


def of_lua(source: str) -> Iterator[Text]:
    return of_code(r"--([^\n]*)", source)


def of_lines(source: str) -> Iterator[Text]:
    """Every line, without the mark of a comment; a blank line ends a text."""
    yield from joined((line, row) for line, raw in enumerate(source.splitlines(), 1) if (row := raw.strip("#; ")))


def of_catalogue(source: str) -> Iterator[Text]:
    """The English of every message."""
    for message in read_po(io.StringIO(source)):
        for text in (message.id,) if isinstance(message.id, str) else message.id:
            yield Text(message.lineno or 0, text)


def of_page(source: str) -> Iterator[Text]:
    """A page of the docs, without what a terminal shows."""
    yield from of_lines(re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), source, flags=re.M | re.S))


#: Which files -> how their texts are found. Left out: docs/adr, a record of decisions, which stays as it was written.
PLACES: Final[dict[str, Callable[[str], Iterator[Text]]]] = {
    "adminkit/**/*.py": of_python,
    "tools/**/*.py": of_python,
    "job_submit/**/*.lua": of_lua,
    "spank/**/*.[ch]": of_c,
    "adminkit/native/**/*.[ch]": of_c,
    "etc/**/*.*": of_lines,
    "adminkit/**/templates/**/*.*": of_lines,
    "adminkit/locale/*.po": of_catalogue,
    "*.md": of_page,
    "docs/*.md": of_page,
    "docs/[!a]*/*.md": of_page,
}


def across_lines(pattern: str) -> str:
    return pattern.replace(" ", r"\s")


def found(begin: int, text: str) -> Iterator[tuple[str, int, str]]:
    """Each turn of phrase in a text: its name, its line, the words around it."""
    text = "\n".join(" ".join(row.split()) for row in text.split("\n"))
    for pattern in EXCEPTIONS:
        text = re.sub(across_lines(pattern), lambda match: "\n" * match[0].count("\n"), text)
    for name, (pattern, _) in PATTERNS.items():
        for match in re.finditer(across_lines(pattern), text):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            yield name, begin + text.count("\n", 0, match.end() - 1), " ".join(around.split())


@pytest.mark.parametrize("place", PLACES)
def test_no_text_has_the_word_order_of_another_language(place: str) -> None:
    paths = [path for path in ROOT.glob(place) if path.is_file()]
    assert paths, "a place without files"
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {name}: … {words} …; write {PATTERNS[name][1]}"
        for path in sorted(paths)
        for begin, text in PLACES[place](path.read_text())
        for name, line, words in found(begin, text)
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("/x is no folder", "is no X", "it is not a folder"),
        ("bytes that are no\n    UTF-8", "is no X", "across lines"),
        ("{} is no {}", "is no X", "of values"),
        ("There is no folder /x", None, "there is none"),
        ("it is no longer due", None, "an adverb"),
        ("ran for at most so long", "so many", "nothing says how long"),
        ("So many jobs wait", "so many", "at the beginning"),
        ("so long as it runs, so many that it stops", None, "compared with something"),
        ("jobs with a limit of ours", "of ours", "our limit"),
        ("Kept. Of a job the last run", "Of …", "a sentence that begins with it"),
        ("Kept: the last run of a job", None, "in its place"),
        ("root alone may", "alone", "only root may"),
        ("other jobs are left alone", None, "untouched"),
        ("`alone`: no other host", None, "a name of the code"),
        ("the run goes on", "go on", "continues"),
        ("unknown from here on", "from X on", "after it"),
        ("sent from this day on.", "from X on", "of several words"),
        ("from the same jobs on a machine", None, "a place"),
        ("nothing from {time} on", "from X on", "after a value"),
        ("jobs are charged from now on", None, "an idiom"),
        ("the trace knows nothing of alpha", "knows nothing", "it has no data"),
        ("a line that is none is skipped", "is none", "a line that is not an act"),
        ("there is none", None, "nothing is there"),
        ("{% if risk is none %}", None, "code"),
        ("the file is made anew", "anew", "again"),
        ("look whether it runs", "look whether", "check that it is running"),
        ("it adds up over users", "add up over", "a figure of all of them"),
        ("12h (that long ago)", "that long ago", "12 hours before now"),
        ("over as long again", "as long again", "a second period"),
        ("the trace has ends from May", "has ends", "jobs that ended"),
        ("nobody says why", "nobody says", "it is not recorded"),
        ("off by 2 s in the median", "in the median", "the median error"),
        ("Docker has not been run", "has not been run", "it is untested"),
        ("lower it: who asks for nothing needs little", "who asks", "jobs are meant"),
        ("users who ask for less", None, "with its noun"),
    ],
)
def test_patterns_find_the_word_order_and_nothing_else(text: str, name: str | None, why: str) -> None:
    assert [one for one, _, _ in found(1, text)] == ([name] if name else []), why


@pytest.mark.parametrize(
    ("how", "source", "texts"),
    [
        (of_python, '#: One\n# two\nx = f"a {1} b" "c"\n', [(1, "One\ntwo"), (3, "a {} bc")]),
        (of_c, '/* One\n * two */ int x;\nchar *s = "/* a"; // b\n', [(3, "/* a"), (1, "One\ntwo"), (3, "b")]),
        (of_lua, '-- One\n-- two\nlocal s = "a -- b" -- three\n', [(3, "a -- b"), (1, "One\ntwo\nthree")]),
        (of_lines, "# One\n# two\n\nx = 1\n", [(1, "One\ntwo"), (4, "x = 1")]),
        (of_catalogue, 'msgid ""\nmsgstr ""\n\nmsgid "One"\nmsgstr "x"\n', [(0, ""), (4, "One")]),
        (of_page, "One\n```\ntwo\n```\nthree", [(1, "One"), (5, "three")]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_comment_and_every_string_is_read(
    how: Callable[[str], Iterator[Text]], source: str, texts: list[tuple[int, str]]
) -> None:
    assert [tuple(text) for text in how(source)] == texts
