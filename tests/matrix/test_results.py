"""What the matrix counts and says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.matrix import __main__ as matrix
from tests.matrix import engine, page, results
from tests.matrix.differences import DIFFERENCES
from tests.matrix.results import Cell, Ground, Table
from tests.matrix.rows import ROOT, ROWS, Row, suites

GOOD = '<testcase name="good"/>'
BAD = '<testcase name="bad"><failure message="no"/></testcase>'
BROKEN = '<testcase name="broken"><error message="no cluster"/></testcase>'
LEFT = '<testcase name="left"><skipped message="no\n pyslurm"/></testcase>'


@pytest.mark.parametrize(
    ("cases", "state", "counts", "reasons"),
    [
        (GOOD + GOOD, "passed", (2, 0, 0), ()),
        (GOOD + LEFT + LEFT, "passed", (1, 0, 2), ("2 skipped: no pyslurm",)),
        (GOOD + BAD + BROKEN, "failed", (1, 2, 0), ("failed: bad", "failed: broken")),
        (LEFT, "not run", (0, 0, 1), ("1 skipped: no pyslurm",)),
        ("", "not run", (0, 0, 0), ("it holds no test for this row",)),
    ],
)
def test_a_suite_is_counted_from_what_pytest_wrote(
    cases: str, state: str, counts: tuple[int, int, int], reasons: tuple[str, ...]
) -> None:
    text = f"<testsuites><testsuite>{cases}</testsuite></testsuites>"
    cell = results.from_junit(text, "trixie", "sync", "abc", 3.4)
    assert (cell.state, (cell.passed, cell.failed, cell.skipped), cell.reasons) == (state, counts, reasons)


def test_a_table_is_kept_whole_and_a_new_run_takes_the_place_of_the_old(tmp_path: Path) -> None:
    table = Table().with_ground(Ground("trixie", "24.11.5", "Debian", "3.13.5", "liblua5.1.so.0", "v1"))
    table = table.with_cell(Cell("trixie", "sync", "abc", "failed", failed=1, reasons=("failed: x",)))
    table = table.with_cell(Cell("trixie", "sync", "abd", "passed", passed=9))
    results.save(table, tmp_path / "matrix.json")
    assert results.load(tmp_path / "matrix.json") == table
    assert results.load(tmp_path / "none.json") == Table()
    assert table.cell("trixie", "sync") == Cell("trixie", "sync", "abd", "passed", passed=9)


def test_the_table_has_every_cell_and_every_reason() -> None:
    table = Table(cells=(Cell("forky", "sync", "abc", "failed", 8, 1, 2, 30, ("failed: x", "2 skipped: y")),))
    table = table.with_cell(Cell("forky-v2", "ckpt", "abc", "passed", 5, 0, 0, 60))
    said = page.text(table)
    assert "1 FAILED, 8 passed, 2 skipped" in said
    assert said.endswith("sync, forky: failed: x\nsync, forky: 2 skipped: y")
    assert "| sync | - | - | 1 FAILED, 8 passed, 2 skipped | - | 0.5 |\n| minutes" in page.markdown(table)
    assert "| ckpt | - | - | 5 passed | 1.0 |\n| minutes" in page.markdown(table), "guests have a table of their own"


def test_a_reason_of_several_rows_is_told_once_and_a_commit_of_most_cells_without_them() -> None:
    rows = [row.name for row in ROWS if row.takes("unit")]
    left = [Cell(row, "unit", "abc", "passed", 9, 0, 1, 30, ("1 skipped: no zsh",)) for row in rows]
    old = [Cell(row, "sync", "abd+", "passed", 9, 0, 1, 90, ("1 skipped: no zsh",)) for row in ("trixie", "forky")]
    said = page.markdown(Table(cells=(*left, *old)))
    assert "- unit, every environment: 1 skipped: no zsh\n- sync, trixie, forky: 1 skipped: no zsh\n\n" in said
    assert "\n- abc: all cells except those below\n- abd+: sync (trixie, forky)\n\n" in said
    assert "| minutes | 0 | 2 | 2 | 0 | 5 |" in said


def test_of_many_that_failed_three_are_named() -> None:
    many = tuple(f"failed: {name}" for name in "abcde")
    said = page.markdown(Table(cells=(Cell("forky", "sync", "abc", "failed", 0, 5, 1, 9, (*many, "1 skipped: y")),)))
    assert "failed: c\n- sync, forky: 2 more failed\n- sync, forky: 1 skipped: y\n" in said


def test_what_was_run_on_another_branch_is_taken_and_nothing_older() -> None:
    old, new = Cell("forky", "ckpt", "abc", "passed", 1), Cell("forky", "ckpt", "abd", "passed", 2)
    ran = Cell("forky", "sync", "abd", "passed", 3)
    before, ours, theirs = (Table(cells=cells) for cells in ((old,), (new,), (old, ran)))
    assert results.taken(ours, before, theirs).cells == (new, ran)


def test_two_who_run_different_suites_can_be_merged(tmp_path: Path) -> None:
    """Two people on two branches, each with their own suites of the same release."""
    if shutil.which("git") is None:
        pytest.skip("not run: no git")
    before = Table().with_cell(Cell("forky", "ckpt", "abc", "passed", 1))
    ours = before.with_cell(Cell("trixie", "ckpt", "abd", "passed", 2)).with_cell(before.cells[0])
    theirs = before.with_cell(Cell("trixie", "cluster", "abe", "passed", 3))
    for name, table in {"before": before, "ours": ours, "theirs": theirs}.items():
        results.save(table, tmp_path / f"{name}.json")
    words = ["git", "merge-file", *(str(tmp_path / f"{name}.json") for name in ("ours", "before", "theirs"))]
    subprocess.run(words, check=True)
    assert set(results.load(tmp_path / "ours.json").cells) == {*ours.cells, *theirs.cells}


def test_a_cell_that_another_row_keeps_while_a_guest_boots_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a row's programs are is asked in a container or a guest, whose disk may take minutes to make."""
    kept = [Table()]
    other, ground = Cell("prefix", "sync", "abc", "passed", 17), Ground("forky-v2", "26.05.5", "Debian", "3", "", "v2")

    def boots(_: Row) -> Ground:
        kept.append(kept[-1].with_cell(other))
        return ground

    monkeypatch.setattr(engine, "image", lambda row: row.name)
    monkeypatch.setattr(engine, "ground", boots)
    monkeypatch.setattr(engine, "run", lambda row, suite, commit: Cell(row.name, suite.name, commit, "passed", 1))
    monkeypatch.setattr(results, "load", lambda: kept[-1])
    monkeypatch.setattr(results, "save", kept.append)
    monkeypatch.setattr(page, "write", lambda table: None)
    matrix.main(["--row", "forky-v2", "--suite", "ckpt"])
    assert kept[-1].grounds == (ground,)
    assert kept[-1].cell("prefix", "sync") == other
    assert kept[-1].cell("forky-v2", "ckpt") is not None


def test_every_file_of_tests_that_boots_a_slurm_is_a_suite() -> None:
    names = {suite.name for suite in suites()}
    assert {"build", "unit", "cluster", "ground", "releases", "sync", "policy_rules"} <= names
    assert "soak" not in names
    assert "config" not in names, "it boots none: it is among the unit tests"


def test_every_difference_is_minded_in_a_file_that_is_there() -> None:
    assert [one.place for one in DIFFERENCES if not (ROOT / one.place).exists()] == []


#: How a release is compared with, in Python and in C.
COMPARED = re.compile(r"\(2[2-9], (?:2|5|8|11)(?:, 0)?\)|SLURM_VERSION_NUM\(")


def test_every_place_that_compares_with_a_release_is_among_the_differences() -> None:
    places = [*(ROOT / "adminkit").rglob("*.py"), *(ROOT / "spank").glob("*/*.[ch]")]
    places += [ROOT / "tests/cluster/harness" / f"{name}.py" for name in ("cluster", "config", "machine")]
    found = {str(path.relative_to(ROOT)) for path in places if COMPARED.search(_code(path))}
    assert found >= {
        "adminkit/ingest/sources/sacct_fields.py",
        "spank/common/slurm_compat.h",
        "tests/cluster/harness/config.py",
    }
    assert found <= {one.place for one in DIFFERENCES}


def _code(path: Path) -> str:
    """Without texts that are no code, and without the oldest release there is."""
    text = re.sub(r'""".*?"""|/\*.*?\*/', "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"OLDEST: Final.*|release: tuple.*|.*NUM\(22, 5, 0\).*", "", text)


def test_a_row_is_only_for_suites_that_there_are() -> None:
    assert {name for row in ROWS for name in row.only} <= {suite.name for suite in suites()}


def test_rows_are_named_once() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
