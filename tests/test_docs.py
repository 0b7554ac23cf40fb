"""The docs say what is so: references are fresh, commands exist, queries run, columns are those of the trace."""

from __future__ import annotations

import dataclasses
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from adminkit.cli.main import main
from adminkit.job import Job, Step
from adminkit.policy.texts import defaults
from adminkit.trace import connect
from tests.trace.test_run_view import DERIVED
from tests.trace.test_schema import STUDY
from tools import docs, old_traces

PAGES = sorted(
    [*(docs.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *docs.DOCS.rglob("*.md")]
)
NAMES = [str(page.relative_to(docs.ROOT)) for page in PAGES]

#: Need a cluster, or a long time: looked at, not run.
NOT_RUN = ("sync", "demo", "doctor")


def blocks(page: Path, language: str | None = None) -> Iterator[str]:
    """The fenced blocks of a page, of one language or of any."""
    for found in re.finditer(r"^```(\w*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        if language is None or found.group(1) == language:
            yield found.group(2)


def command_lines(page: Path, language: str | None = None) -> list[list[str]]:
    """Every call of adminkit in the blocks of a page, as words; what stands before a pipe or after it is left out."""
    found = []
    for block in blocks(page, language):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            for part in re.split(r"\s\|\s", line.removeprefix("$ ")):
                if part.strip().startswith("adminkit "):
                    found.append(shlex.split(part, comments=True)[1:])
    return found


def inline_commands(page: Path) -> list[list[str]]:
    """Every call of adminkit inside a sentence or a table, as words; one that goes on with … is left out."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [shlex.split(one)[1:] for one in re.findall(r"`(adminkit [^`]+)`", prose) if "…" not in one]


@pytest.mark.parametrize("name", docs.GENERATED)
def test_a_generated_page_is_fresh(name: str) -> None:
    assert (docs.DOCS / name).read_text() == docs.GENERATED[name](), "stale: run `make docs` (python -m tools.docs)"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor and there.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}, anchor


def test_no_page_has_both_sides_of_a_merge() -> None:
    marked = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [name for name, page in zip(NAMES, PAGES, strict=True) if marked.search(page.read_text())] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    known = {command.words[1:]: command for command in docs.commands()}
    for typed in [*command_lines(page), *inline_commands(page)]:
        words = typed[1:] if typed[0] == "-q" else typed
        path: tuple[str, ...] = ()
        while len(words) > len(path) and (*path, words[len(path)]) in known:
            path = (*path, words[len(path)])
        rest = words[len(path) :]
        command = known[path]
        assert not command.inside or not rest or rest[0].startswith("-"), f"no command: adminkit {' '.join(words)}"
        taken = {name for one in docs.parameters(command.function) for name in one.names} if command.function else set()
        taken = {name for one in taken for name in one.split("/")} | {"--help", "-h", "--debug"}
        taken |= {"--install-completion", "--show-completion"} if not path else set()
        for word in rest:
            if re.match(r"--?[a-zA-Z]", word):
                assert word.partition("=")[0] in taken, f"no option {word}: adminkit {' '.join(words)}"


#: Keys that stand in no example file: of a map for import, of a decision in policy-spec.md, of texts of rules.
ELSEWHERE = {"delimiter", "rule", "reject"}


def test_every_setting_that_a_sentence_names_is_a_key() -> None:
    """The files in etc show every key (tests/test_config.py); `[section] key` needs a key of that very section."""
    keys: set[str] = set(ELSEWHERE)
    inside: set[tuple[str, str]] = set()
    for path in (docs.ROOT / "etc").rglob("*.toml"):
        section = ""
        for head, key in re.findall(r"^(?:# ?)?(?:\[+([\w.]+)\]+|(\w+) = )", path.read_text(), re.MULTILINE):
            section = head or section
            keys |= {key}
            inside |= {(section, key)}
    wrong = []
    for name, page in zip(NAMES, PAGES, strict=True):
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        named = re.findall(r"`([a-z_.]+) = [^`\n]*`", prose)
        wrong += [(name, key) for key in named if key.rpartition(".")[2] not in keys]
        placed = re.findall(r"`\[([a-z_]+)\] ([a-z_]+)(?: = [^`\n]*)?`", prose)
        wrong += [(name, f"[{section}] {key}") for section, key in placed if (section, key) not in inside]
    assert wrong == []


RUN = [page for page in PAGES if any(True for _ in blocks(page, "console"))]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = tmp_path_factory.mktemp("old") / "trace.db"
    old_traces.build(old_traces.kept()[-1], trace)
    connect.upgrade(trace)
    return trace


@pytest.mark.parametrize("page", RUN, ids=[str(page.relative_to(docs.ROOT)) for page in RUN])
def test_commands_of_console_blocks_run(
    page: Path, upgraded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = shutil.copy(upgraded, tmp_path / "trace.db")
    monkeypatch.setenv("ADMINKIT_DB", str(trace))
    monkeypatch.chdir(tmp_path)
    for words in command_lines(page, "console"):
        if words[0] not in NOT_RUN:
            assert main(words) == 0, f"adminkit {' '.join(words)}: {capsys.readouterr().err}"


def test_the_queries_of_the_trace_page_run_and_answer(tmp_path: Path) -> None:
    trace = tmp_path / "trace.db"
    old_traces.build(old_traces.kept()[-1], trace)
    connect.upgrade(trace)
    with sqlite3.connect(trace) as db:
        db.execute("UPDATE job SET gpus = 1, eligible_time = submit_time")
    queries = list(blocks(docs.DOCS / "trace.md", "sql"))
    assert len(queries) == 4
    with connect.reader(trace) as db:
        answers = [db.execute(query).fetchall() for query in queries]
    assert answers == [[("gq", 1, 0.014)], [("user1", 71.0)], [("2017-07", 1, 0.02)], [("2017-07", 1, 0.014, 0.02)]]


def rows(heading: str) -> list[str]:
    """The first cells of the table below a heading of the trace page, in order, as bare names."""
    section = (docs.DOCS / "trace.md").read_text().partition(f"\n{heading}\n")[2].split("\n#")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name.strip('"') for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("### job", [field.name for field in dataclasses.fields(Job)]),
        ("### step", [field.name for field in dataclasses.fields(Step)]),
        ("## The view `trace`", STUDY),
        ("## The view `run`", DERIVED),
    ],
)
def test_the_trace_page_has_every_column_in_its_order(heading: str, expected: list[str]) -> None:
    assert rows(heading) == expected


@pytest.mark.parametrize("table", ["node", "node_event", "outbox", "person", "ledger", "ledger_scheme"])
def test_the_trace_page_has_every_column_of(table: str, tmp_path: Path) -> None:
    connect.create(tmp_path / "trace.db")
    with sqlite3.connect(tmp_path / "trace.db") as db:
        assert rows(f"### {table}") == [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]


def test_the_trace_page_has_every_table(tmp_path: Path) -> None:
    connect.create(tmp_path / "trace.db")
    with sqlite3.connect(tmp_path / "trace.db") as db:
        names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_*'").fetchall()
    assert sorted(rows("## Tables")) == sorted(name for (name,) in names)


def test_decisions_are_short_and_have_their_four_parts() -> None:
    found = sorted((docs.DOCS / "adr").glob("*.md"))
    assert len(found) >= 5
    for page in found:
        text = page.read_text()
        assert len(text.splitlines()) <= 25, page.name
        assert text.startswith(f"# {int(page.name[:4])}. "), page.name
        for part in ("Status", "Context", "Decision", "Consequences"):
            assert part in text, f"{page.name} lacks {part}"


def test_the_generator_is_a_program(tmp_path: Path) -> None:
    code = f"import pathlib, tools.docs as d; d.DOCS = pathlib.Path({str(tmp_path)!r}); d.main()"
    subprocess.run([sys.executable, "-c", code], cwd=docs.ROOT, check=True, capture_output=True)
    assert sorted(page.name for page in tmp_path.iterdir()) == sorted(docs.GENERATED)


@pytest.mark.parametrize(("name", "texts"), [("users.md", defaults("en")), ("users.ja.md", defaults("ja"))])
def test_the_users_page_quotes_the_hint_as_it_is(name: str, texts: Mapping[str, str]) -> None:
    said = texts["hint"].format(
        runs="12", expected="00:50:00", asked="3-00:00:00", safe="01:00:00", risk="3", queue="gq"
    )
    quoted = re.search(r"`sbatch: ([^`]*)`", (docs.DOCS / name).read_text())
    assert quoted
    for part in quoted[1].split("…"):
        assert part.strip() in said


def test_the_users_page_says_the_same_in_both_languages() -> None:
    """The same headings, things to type and links, in the same order."""
    pages = [docs.DOCS / "users.md", docs.DOCS / "users.ja.md"]
    assert len({len(re.findall("^## ", page.read_text(), re.MULTILINE)) for page in pages}) == 1
    typed = [[re.sub(r"\s+#.*", "", block, flags=re.MULTILINE) for block in blocks(page)] for page in pages]
    assert typed[0] == typed[1]
    ends = [re.findall(r"\| (`[^`]+`) \|$", page.read_text(), re.MULTILINE) for page in pages]
    assert ends[0] == ends[1]
    links = [re.findall(r"\[(?:more|詳しく)\]\(([^)]*)\)", page.read_text()) for page in pages]
    assert links[0] == links[1]


def test_the_index_has_every_page() -> None:
    """A folder of pages of one kind counts where it is linked itself, or where its first page is."""
    listed = set(re.findall(r"\]\(([^)#]+)", (docs.DOCS / "README.md").read_text()))
    folders = {"adr", "findings", "policy", "reports", "simulate"}
    for page in docs.DOCS.rglob("*.md"):
        name = str(page.relative_to(docs.DOCS))
        assert name in {*listed, "README.md"} or name.partition("/")[0] in folders, f"docs/README.md lacks {name}"


def test_the_readme_is_short() -> None:
    assert len((docs.ROOT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_each_row_of_a_table_has_a_cell_for_each_column(page: Path) -> None:
    wrong, columns, code = [], 0, False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        code ^= line.startswith("```")
        if code or not line.startswith("|"):
            columns = 0
            continue
        cells = len(re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line.strip())))
        columns = columns or cells
        wrong += [f"{number}: {line}"] if cells != columns else []
    assert not wrong, "\n".join(wrong)
