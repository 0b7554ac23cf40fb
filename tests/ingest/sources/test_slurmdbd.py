"""slurmdbd's database as a source, without a database: what is refused before a question, and what errors say."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.ingest.sources.slurmdbd_answer import finish, tasks_of
from adminkit.ingest.sources.slurmdbd_fields import (
    ASSOCIATIONS,
    OPEN,
    Known,
    job_fields,
    literal,
    packed_of,
    step_fields,
    word,
)
from adminkit.ingest.sources.slurmdbd_schema import ASSOCIATION, JOB, STEP, TRES, Schema, associations_of, schema_of
from adminkit.ingest.sources.verify import spelled
from adminkit.slurm.database import Database, DatabaseFailed
from adminkit.slurm.seal import SHORT, Marks
from tests.support.fakes import Programs

TABLES = {"alpha_job_table": JOB, "alpha_step_table": STEP, "alpha_assoc_table": ASSOCIATION, "tres_table": TRES}


@pytest.mark.parametrize(
    ("mask", "text", "why"),
    [
        (0b1, "0", "one task"),
        (0b110, "1-2", "neighbours"),
        (0b10101010, "1,3,5,7", "steps, but only four"),
        (sum(1 << n for n in range(1, 22, 2)), "1-21:2", "more than five at equal steps, over more than ten"),
        (sum(1 << n for n in (0, 2, 4, 6, 8, 10)), "0,2,4,6,8,10", "no further apart than ten"),
        (sum(1 << n for n in (0, 5, 10, 15, 20, 26)), "0,5,10,15,20,26", "steps that are not equal"),
        (sum(1 << n for n in (0, 1, 4, 7, 10, 13)), "0-1,4,7,10,13", "a neighbour of the first"),
    ],
)
def test_the_tasks_of_an_array_are_written_as_slurm_writes_them(mask: int, text: str, why: str) -> None:
    assert tasks_of(mask) == text, why


MARKS = Marks("\x1fdelim", "xseal")


@pytest.mark.parametrize(
    ("answer", "kept", "partial", "why"),
    [
        ("", "", False, "nothing"),
        ("1<7>\n2<8>\n", "1<7>\n2<8>\n", False, "nothing to do"),
        ("xseal\n1<7>\nxseal\nxseal\n2<8>\nxseal\n", "1<7>\n2<8>\n", True, "first, twice in a row, last"),
        ("7_[0x6%2]|9\n", "7_[1-2%2]|9\n", False, "the tasks of an array"),
        ("7_[0x6]\n|a_[0x6]|\n", "7_[0x6]\n|a_[0x6]|\n", False, "a user's text"),
        ("1|xseal|xseal\n", "1|xseal|xseal\n", False, "seals behind times"),
        ("7_[0x6%2];7;|a\n8_[0x6];8|\n", "7_[1-2%2];7;|a\n8_[0x6];8|\n", False, "a user's text after a newline"),
        ("x;|\n7_[0x6];7|\nxseal\n8_[0x6];8|\n", "x;|\n7_[1-2];7|\n8_[1-2];8|\n", True, "behind a whole record"),
        ("x" * (1 << 20) + "\nxseal\n7_[0x3]|\n", "x" * (1 << 20) + "\n7_[0-1]|\n", True, "behind much else"),
    ],
)
def test_an_answer_loses_the_lines_of_records_without_a_word_and_gets_its_tasks(
    answer: str, kept: str, partial: bool, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "answer"
    file.write_text(answer.replace("|", MARKS.delimiter).replace(";", SHORT))
    assert finish(file, MARKS) is partial, why
    assert file.read_text() == kept.replace("|", MARKS.delimiter).replace(";", SHORT), why
    assert [one.name for one in tmp_path.iterdir()] == ["answer"]


#: Columns of the tables that a user's text can stand in.
WRITTEN = {"account", "partition", "admin_comment", "system_comment", "derived_es", "extra", "submit_line", "job_name",
           "step_name", "work_dir", "wckey", "constraints"}  # fmt: skip


@pytest.mark.parametrize(("fields_of", "many"), [(job_fields, 28), (step_fields, 17)], ids=["of a job", "of a step"])
def test_no_packed_field_has_a_column_that_a_user_can_write_into(
    fields_of: Callable[[Known], dict[str, str]], many: int
) -> None:
    known = Known("seal", 9, {}, {}, frozenset({*JOB, "restart_cnt", "extra", "id_job"}), (22, 5, 0))
    fields = fields_of(known)
    packed = packed_of(fields)
    assert packed == many
    for place, (name, sql) in enumerate(fields.items()):
        written = WRITTEN & set(re.findall(r"\w+", sql))
        assert (name in OPEN) is bool(written) is (place >= packed), (name, written)
    assert packed_of(["JobID", "Submit"]) == 2


def sql_of(expression: str, value: int) -> object:
    """SQLite has IF under another name, no ELT, and writes the bytes of a literal as they are."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.create_function("ELT", -1, lambda place, *words: words[place - 1] if 0 < place <= len(words) else None)
        return db.execute(
            f"SELECT CAST({expression.replace('IF(', 'iif(')} AS TEXT) FROM (SELECT ? AS code)", (value,)
        ).fetchone()[0]


@pytest.mark.parametrize("many", [0, 1, 8, 9, 1000])
def test_each_code_gets_its_word_and_another_one_none(many: int) -> None:
    words = {3 * number: f"group{number}" for number in range(many)}
    expression = word("Group", "code", {"Group": words})
    for code in {-1, *list(words)[:20], *list(words)[-20:], 4, 3 * many}:
        assert sql_of(expression, code) == words.get(code)


def test_only_a_clusters_own_tres_get_their_names_by_the_list() -> None:
    names = {1: "cpu", 1003: "license/a", 1001: "gres/gpu", 1002: "gres/gpu:a100", 1004: "gres/a,b"}
    assert Schema(frozenset(), names).numbers == "1001:gres/gpu=,1002:gres/gpu:a100=,1003:,1004:"
    assert Schema(frozenset(), {1: "cpu"}).numbers == ""


@pytest.mark.parametrize(
    ("record", "told", "why"),
    [
        (
            {"ReqTRES": "1=8,2=64000,4=2,1001=1"},
            {"ReqTRES": "cpu=8,gres/gpu=1,mem=64000M,node=2", "ReqNodes": "2", "ReqMem": "64000M"},
            "counts are in the list",
        ),
        (
            {"ReqTRES": "1=8,2=18446744073709551614,1001=1"},
            {"ReqTRES": "cpu=8,gres/gpu=1", "ReqNodes": "0", "ReqMem": "0"},
            "an unset one is left out",
        ),
        (
            {"AllocTRES": "", "AllocNodes": "0", "AllocCPUS": "8"},
            {"AllocTRES": "", "AllocNodes": "0", "AllocCPUS": "8"},
            "nothing was allocated",
        ),
        (
            {"AllocTRES": "1=8,4=2", "AllocNodes": "0", "AllocCPUS": ""},
            {"AllocTRES": "cpu=8,node=2", "AllocNodes": "2", "AllocCPUS": "8"},
            "nodes are in the list only",
        ),
        ({"TimelimitRaw": "4294967295"}, {"TimelimitRaw": "UNLIMITED"}, "no limit"),
        ({"TimelimitRaw": "4294967294"}, {"TimelimitRaw": "Partition_Limit"}, "the queue's"),
        ({"TimelimitRaw": "60"}, {"TimelimitRaw": "60"}, "minutes"),
        ({"Suspended": "0"}, {"Suspended": "00:00:00"}, "never suspended"),
        ({"Suspended": "100000"}, {"Suspended": "1-03:46:40"}, "for more than a day"),
    ],
)
def test_a_record_is_compared_in_sacct_s_spelling(record: dict[str, str], told: dict[str, str], why: str) -> None:
    plain = dict.fromkeys(("ReqTRES", "AllocTRES", "AllocNodes", "AllocCPUS", "TimelimitRaw"), "")
    plain["Suspended"] = "0"
    found = spelled({**plain, **record}, {1: "cpu", 2: "mem", 4: "node", 1001: "gres/gpu"})
    assert {name: found[name] for name in told} == told, why


@pytest.mark.parametrize("text", ["", "a'b", "a\\", "\x1f", "学習", "x\ny"])
def test_a_literal_has_no_character_of_its_text(text: str) -> None:
    sql = literal(text)
    assert set(sql) <= set("x'0123456789abcdef")
    assert bytes.fromhex(sql.strip("x'")).decode() == text


def option_file(folder: Path, mode: int = 0o600) -> Path:
    path = folder / "slurmdbd.cnf"
    path.write_text("[client]\nuser=reader\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("mode", "said"),
    [(0o600, None), (0o640, None), (0o644, "others can read"), (0o660, "others can read or change"), (0o602, "change")],
)
def test_an_option_file_is_for_its_owner_and_group_only(
    mode: int, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Programs(tmp_path / "bin", monkeypatch).add("mariadb", "cat >/dev/null; printf '1\\t2\\n'")
    database = Database(option_file(tmp_path, mode), 5)
    if said is None:
        assert database.ask("SELECT 1, 2") == [["1", "2"]]
        return
    with pytest.raises(AdminkitError, match=said):
        database.ask("SELECT 1, 2")


@pytest.mark.parametrize(
    ("says", "hint", "unreachable"),
    [
        ("ERROR 1045 (28000): Access denied for user 'reader'", "GRANT", True),
        ("ERROR 1142 (42000): SELECT command denied to user", "GRANT", True),
        ("ERROR 1049 (42000): Unknown database 'x'", "StorageLoc", True),
        ("ERROR 2002 (HY000): Can't connect to local server through socket", "socket", True),
        ("ERROR 2026 (HY000): TLS/SSL error: certificate", "ssl", True),
        ("ERROR 2013 (HY000): Lost connection to server during query", "next run", True),
        ("ERROR 1969 (70100): Query execution was interrupted (max_statement_time exceeded)", "timeout", False),
        ("ERROR 1054 (42S22): Unknown column 'j.x'", "log", True),
    ],
)
def test_what_the_client_says_comes_with_a_hint(
    says: str, hint: str, unreachable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Programs(tmp_path / "bin", monkeypatch).add("mariadb", f'cat >/dev/null; echo "{says}" >&2; exit 1')
    with pytest.raises(DatabaseFailed) as failed:
        Database(option_file(tmp_path), 5).ask("SELECT 1")
    assert says[:20] in failed.value.message
    assert hint in (failed.value.hint or "")
    assert failed.value.unreachable is unreachable


def test_an_answer_that_was_cut_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Programs(tmp_path / "bin", monkeypatch).add(
        "mariadb", "cat >/dev/null; echo half; echo 'ERROR 2013: Lost connection' >&2; exit 1"
    )
    with pytest.raises(DatabaseFailed):
        Database(option_file(tmp_path), 5).spool("SELECT 1", tmp_path / "answer")
    assert not (tmp_path / "answer").exists()


def test_without_a_client_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Programs(tmp_path / "bin", monkeypatch)
    with pytest.raises(DatabaseFailed, match="neither mariadb nor mysql") as failed:
        Database(option_file(tmp_path), 5).ask("SELECT 1")
    assert "mariadb-client" in (failed.value.hint or "")


def tables(folder: Path, monkeypatch: pytest.MonkeyPatch, without: str = "") -> Database:
    """A database with all tables, but for the table or the column (`table.column`) that is left out."""
    programs = Programs(folder / "bin", monkeypatch)
    listed = folder / "columns"
    lines = [f"{name}\t{column}" for name, columns in TABLES.items() for column in sorted(columns)]
    dropped = without.replace(".", "\t")
    listed.write_text("".join(f"{one}\n" for one in lines if not dropped or not f"{one}\t".startswith(f"{dropped}\t")))
    resources = r"printf '1\tcpu\t\n1001\tgres\tgpu\n'"
    programs.add("mariadb", f'case "$(cat)" in *information_schema*) cat {listed} ;; *) {resources} ;; esac')
    return Database(option_file(folder), 5)


def test_the_tables_are_looked_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = schema_of(tables(tmp_path, monkeypatch), "alpha")
    assert found.columns == JOB
    assert found.tres == {1: "cpu", 1001: "gres/gpu"}
    assert found.version is None, "a database without the table, or a user who may not read it"


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("alpha_job_table", "no table alpha_job_table"),
        ("alpha_step_table.tres_usage_in_tot", "has no column tres_usage_in_tot"),
        ("alpha_job_table.state", "has no column state"),
    ],
)
def test_tables_of_another_shape_are_refused(
    without: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AdminkitError, match=said):
        schema_of(tables(tmp_path, monkeypatch, without), "alpha")


@pytest.mark.parametrize(
    ("rows", "found", "why"),
    [
        (
            "1\troot\troot\n2\tgames\tstaff\n",
            {"User": {1: "root", 2: "games"}, "Account": {1: "root", 2: "staff"}},
            "two",
        ),
        ("3\t\tstaff\n4\tnews\t\n", {"User": {3: "", 4: "news"}, "Account": {3: "staff"}}, "as sacct takes them"),
        ("", {"User": {}, "Account": {}}, "none yet"),
        ("4096\tgames\tstaff\n", None, "a number too large to write a list of"),
        ("".join(f"{number}\ta\tb\n" for number in range(ASSOCIATIONS)), None, "too many"),
        ("2\tga\tmes\tstaff\n", None, "a name that cannot be told apart"),
    ],
)
def test_few_associations_are_written_into_a_question(
    rows: str, found: object, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = tmp_path / "rows"
    answer.write_text(rows)
    Programs(tmp_path / "bin", monkeypatch).add("mariadb", f"cat >/dev/null; cat {answer}")
    assert associations_of(Database(option_file(tmp_path), 5), "alpha") == found, why


@pytest.mark.parametrize("cluster", ["a`b", "x; DROP TABLE", "", "A", "a" * 41])
def test_no_name_of_a_cluster_reaches_sql_that_slurm_would_not_take(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AdminkitError, match="name of a cluster's tables"):
        schema_of(tables(tmp_path, monkeypatch), cluster)
