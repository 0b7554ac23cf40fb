"""A record counts where it is what was asked for; what is set aside tells nothing of anybody's command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adminkit import programs
from tests.native import helper
from tests.native.oracle import Format

SEAL = b"x0123456789abcdef"
MARK = b"\x1fAb-_9zZ0"
SPEC = "jobid!,text,time!,time,free,time!"


def sealed(text: str) -> bytes:
    """`|` is the delimiter, `!` the seal."""
    return text.encode().replace(b"|", MARK).replace(b"!", SEAL)


def read(text: str, spec: str = SPEC, **form: Any) -> list[list[Any]]:
    return helper.dump(sealed(text), spec, Format(MARK, ends=True, seal=SEAL, **form))[0]


def job(number: int, name: str = "n", end: int | None = 9) -> list[Any]:
    return ["job", str(number), None, None, None, None, None, None, "alpha", 5, end, name, 5]


@pytest.mark.parametrize(
    ("text", "rows", "why"),
    [
        ("7|alpha|5!|9!|n|5!|\n", [job(7)], "a record of sacct's"),
        ("7|alpha|5!|Unknown|n|5!|\n", [job(7, end=None)], "what is not known has no seal"),
        ("7|alpha|5|9!|n|5!|\n", [["rejected", 1, "column 3 (time): not sealed"]], "a time that somebody typed"),
        ("7|alpha|5x0123456789abcdee|9!|n|5!|\n", [["rejected", 1, "column 3 (time): not sealed"]], "another's seal"),
        ("7|alpha|!|9!|n|5!|\n", [["rejected", 1, "column 3 (time): not sealed"]], "a seal on nothing"),
        ("7|alpha|5!|9|n|5!|\n", [["rejected", 1, "column 4 (time): not sealed"]], "any of its times"),
        ("7|alpha|5!|9!|n|Unknown|\n", [["rejected", 1, "column 6 (time): required, but unknown"]], "nor at its end"),
        ("7|alpha|2024-03-05T07:00:00!|9!|n|5!|\n", [["rejected", 1, "column 3 (time): malformed"]], "epochs alone"),
        ("7|alpha|5!|9!|x\x1f\n8\x1falpha\x1f5\x1f9\x1fy|5!|\n", [job(7, "x\x1f\n8\x1falpha\x1f5\x1f9\x1fy")],
         "the delimiter that every sync had once is a byte of a name"),
        ("7|alpha|5!|9!|x|\n8|alpha|5|9|y|5!|\n",
         [["rejected", 1, "columns: 5, expected: 6"], ["rejected", 2, "column 3 (time): not sealed"]],
         "who knows the delimiter and not the seal loses the own record, and makes none"),
        ("7|alpha|5!|9!|x|5|\n8|alpha|5|9|y|5!|\n6|alpha|5!|9!|n|5!|\n",
         [["rejected", 1, "column 6 (time): not sealed"], ["rejected", 2, "column 3 (time): not sealed"], job(6)],
         "with a whole record in it; the neighbour is unharmed"),
        ("7|alpha|5!|9!|x|1|2|3|5!|\n", [job(7, f"x{MARK.decode()}1{MARK.decode()}2{MARK.decode()}3")],
         "one free column takes the surplus, whoever wrote it"),
    ],
)  # fmt: skip
def test_a_time_without_its_seal_is_nobodys(text: str, rows: list[list[Any]], why: str) -> None:
    assert read(text) == rows, why


@pytest.mark.parametrize(
    ("text", "form", "rows", "why"),
    [
        ("7|alpha|5!|9!|n|5!|\n", {"wants": {2: b"alpha"}}, [job(7)], "the cluster that was asked for"),
        ("7|beta|5!|9!|n|5!|\n", {"wants": {2: b"alpha"}},
         [["rejected", 1, "column 2 (text): not the value that was asked for"]], "another"),
        ("7||5!|9!|n|5!|\n", {"wants": {2: b"alpha"}},
         [["rejected", 1, "column 2 (text): not the value that was asked for"]], "none"),
        ("7|alpha|5!|9!|n|5!|\n", {"within": {4: (9, 10)}}, [job(7)], "both ends of the window"),
        ("7|alpha|5!|9!|n|5!|\n", {"within": {4: (5, 9)}},
         [["rejected", 1, "column 4 (time): outside the range that was asked for"]], "its end is not in it"),
        ("7|alpha|5!|9!|n|5!|\n", {"within": {4: (10, 20)}},
         [["rejected", 1, "column 4 (time): outside the range that was asked for"]], "before"),
        ("7|alpha|5!|Unknown|n|5!|\n", {"within": {4: (10, 20)}}, [job(7, end=None)], "open, where that may be"),
        ("7.0|alpha|5!|9!|n|5!|\n", {"no_steps": True}, [["rejected", 1, "a step, although only jobs were asked for"]],
         "a step, although only jobs were asked for"),
    ],
)  # fmt: skip
def test_a_record_that_was_not_asked_for_is_set_aside(
    text: str, form: dict[str, Any], rows: list[list[Any]], why: str
) -> None:
    assert read(text, **form) == rows, why


def test_a_step_of_a_job_that_was_not_asked_for_is_set_aside_with_it() -> None:
    rows = read("7|beta|5!|7|\n7.0|beta|6!|7.0|\n", "jobid!,text^,time!^,free", wants={2: b"alpha"})
    assert rows[0][2] == "column 2 (text): not the value that was asked for"
    assert rows[1][2] == "a step that does not follow its job's row"


def store(db: Path, text: bytes, spec: str, *args: str | Path, seal: bytes = SEAL, mark: bytes = MARK) -> helper.Ran:
    words = ["--db", db, "--columns", spec, "--ends", "--sealed", *args, "--delimiter", mark.decode()]
    return helper.run(text, *words, seal=seal)


def test_the_same_record_under_other_marks_is_the_same(tmp_path: Path) -> None:
    db = helper.table(tmp_path / "t.db", "id TEXT", "print INTEGER", key="id")
    upsert = "INSERT INTO t VALUES (?1, ?13) ON CONFLICT (id) DO UPDATE SET print = ?13 WHERE print <> ?13"
    text = sealed("7|alpha|5!|9!|n|5!|\n")
    assert store(db, text, SPEC, "--sql", upsert).counts["new"] == 1
    other = text.replace(MARK, b"\x1f--------").replace(SEAL, b"xffffffffffffffff")
    again = store(db, other, SPEC, "--sql", upsert, seal=b"xffffffffffffffff", mark=b"\x1f--------")
    assert again.counts["unchanged"] == 1
    changed = store(db, text.replace(b"9x", b"8x"), SPEC, "--sql", upsert)
    assert changed.counts["changed"] == 1


@pytest.mark.parametrize(
    ("text", "kept", "why"),
    [
        ("7|alpha|5|9!|n|5!|\n", b"7\x1falpha\x1f5\x1f9\x1fn\x1f5\x1f", "without what was drawn for this answer"),
        ("7|alpha|5!|\n", b"7\x1falpha\x1f5\x1f", "a part of a record too"),
    ],
)
def test_what_is_set_aside_is_the_same_text_each_time(tmp_path: Path, text: str, kept: bytes, why: str) -> None:
    db = helper.table(tmp_path / "t.db", "id TEXT")
    reject = ("--reject-sql", "INSERT INTO bad (line, reason, raw) VALUES (?1, ?2, ?3)")
    store(db, sealed(text), SPEC, "--sql", "INSERT INTO t VALUES (?1)", *reject)
    assert helper.rows(db, "SELECT raw FROM bad") == [(kept,)], why


@pytest.mark.parametrize(
    ("text", "kept", "why"),
    [
        ("7|x|sbatch --export=T=s3cr3t a|n|5!|\n", b"7\x1fx", "up to the command line"),
        ("7|5!|sbatch\ns3cr3t|n|\n", b"7\x1f5", "whose second line could be anything"),
        ("s3cr3t\n", b"(6 bytes, not stored)", "nor a line that is not a record"),
    ],
)
def test_no_command_line_is_kept_with_what_is_set_aside(tmp_path: Path, text: str, kept: bytes, why: str) -> None:
    db = helper.table(tmp_path / "t.db", "id TEXT")
    reject = ("--reject-sql", "INSERT INTO bad (line, reason, raw) VALUES (?1, ?2, ?3)")
    ran = store(db, sealed(text), "jobid!,time!,submitted,free,time!", "--sql", "INSERT INTO t VALUES (?1)", *reject)
    assert ran.code == 0, ran.error
    found = [row[0] for row in helper.rows(db, "SELECT raw FROM bad ORDER BY line")]
    assert kept in found, why
    assert not any(b"s3cr3t" in one for one in found), why


@pytest.mark.parametrize(
    ("spec", "text", "kept", "why"),
    [
        ("jobid!,rawid!,time!,state,submitted",
         "1|1|1700000000|COMPLETED|sbatch --wrap=set -e\nexport T=s3cret | tee a\ncurl s3cret | jq . | sort\n"
         "2|2|1700000001|COMPLETED|sbatch x\n",
         [b"(49 bytes, not stored)"], "lines of a script with pipes before the last column"),
        ("jobid!,rawid!,time!,submitted,text",
         "1|1|1700000000|sbatch --wrap=a\ncurl s3cret | x | y | z|name\n2|2|1|sbatch x|n\n",
         [b"1|1|1700000000", b"(28 bytes, not stored)"], "in the middle: of the row that has its job something stays"),
        ("jobid!,rawid!,time!,submitted", "1|s3cret|5|a\n5|1|x|a\n",
         [b"(12 bytes, not stored)", b"5|1|x"], "both names of the job are read"),
        ("text,submitted,jobid!", "s3cret|b|c\n", [b"(10 bytes, not stored)"], "nothing says whose row it is"),
        ("submitted,jobid!", "s3cret|x\n", [b"(8 bytes, not stored)"], "a command line in the first column"),
    ],
)  # fmt: skip
def test_of_a_file_no_command_line_is_kept_either(
    tmp_path: Path, spec: str, text: str, kept: list[bytes], why: str
) -> None:
    db = helper.table(tmp_path / "t.db", "id TEXT")
    reject = ("--reject-sql", "INSERT INTO bad (line, reason, raw) VALUES (?1, ?2, ?3)")
    words = ["--db", db, "--columns", spec, "--delimiter", "|", "--sql", "INSERT INTO t VALUES (?1)", *reject]
    ran = helper.run(text.encode(), *words)
    assert ran.code == 0, ran.error
    found = [row[0] for row in helper.rows(db, "SELECT raw FROM bad ORDER BY line")]
    assert found == kept, why


@pytest.mark.parametrize(
    ("seal", "args", "error"),
    [
        (b"", ["--sealed"], "--sealed: $ADMINKIT_SEAL is not a seal"),
        (b"x" * 25, ["--sealed"], "--sealed: $ADMINKIT_SEAL is not a seal"),
        (SEAL, ["--wants", "1=x"], "--wants: invalid value: 1=x"),
        (SEAL, ["--wants", "9=x"], "--wants: invalid value: 9=x"),
        (SEAL, ["--wants", "x"], "--wants: invalid value: x"),
        (SEAL, ["--within", "2=1..2"], "--within: invalid value: 2=1..2"),
        (SEAL, ["--within", "3=1.2"], "--within: invalid value: 3=1.2"),
        (SEAL, ["--within", "3=1..x"], "--within: invalid value: 3=1..x"),
        (SEAL, ["--within", "3=1..2x"], "--within: invalid value: 3=1..2x"),
        (SEAL, ["--known", "torchrun"], "--known: not a list of programs"),
        (SEAL, ["--known", "a=x:b"], "--known: not a list of programs"),
    ],
)
def test_what_cannot_be_meant_is_one_line(seal: bytes, args: list[str], error: str) -> None:
    ran = helper.run(b"1\n", "--dump", "--columns", SPEC, *args, seal=seal)
    assert (ran.code, ran.error) == (1, f"error: {error}")


def test_a_seal_in_the_environment_is_nothing_to_who_did_not_ask_for_it() -> None:
    assert helper.run(b"5\n", "--dump", "--columns", "time", seal=SEAL).out == '["job",5]\n'


@pytest.mark.parametrize(
    ("line", "outputs", "why"),
    [
        ("sbatch -p gq -t 5 /home/u/train.sh --lr 1", ["sbatch", 0, "train.sh", None, None], "a script"),
        ("/usr/bin/srun -n4 torchrun x.py", ["srun", 0, "torchrun", "torchrun", None], "a program with a name"),
        ("srun python -m torch.distributed.run x", ["srun", 0, "python", "torchrun", None], "one that python starts"),
        ("srun --container-image=a/b torchrun x", ["srun", 0, "torchrun", "torchrun", "enroot"], "pyxis"),
        ("srun apptainer exec i.sif deepspeed x", ["srun", 0, "apptainer", "ds", "appt"], "both"),
        ("sbatch --ckpt-signal USR1@300 a.sh", ["sbatch", 1, "a.sh", None, None], "asked for as an option"),
        ("sbatch --ckpt-off a.sh", ["sbatch", 0, "a.sh", None, None], "asked not to"),
        ("sbatch --export=ALL,ADMINKIT_CKPT=USR1@9 -n1 a.sh", ["sbatch", 1, "a.sh", None, None], "as a variable"),
        ("sbatch a.sh --ckpt-signal=USR1@300", ["sbatch", 0, "a.sh", None, None], "an argument of the script's"),
        ("sbatch -n1 --wrap python x.py", ["sbatch", 0, "python", None, None], "a line in place of a script"),
        ("sbatch --wrap=A=Bearer s3cr3t x", ["sbatch", 0, None, None, None], "which begins with a variable"),
        ("sbatch --export=A=Bearer s3cr3t a.sh", ["sbatch", 0, None, None, None], "a value that had a blank"),
        ("sbatch --token s3cr3t a.sh", ["sbatch", 0, None, None, None], "an option of somebody's plugin"),
        ("sbatch -J my job a.sh", ["sbatch", 0, "job", None, None], "a name with a blank: a guess, and a wrong one"),
        ("salloc -n1", ["salloc", 0, None, None, None], "nothing named"),
        ("scrontab", ["scrontab", 0, None, None, None], "as a site's own script may say"),
        ("dummy", [None, None, None, None, None], "a client of another kind"),
        ("", [None, None, None, None, None], "no line"),
        ("sbatch " + "x" * 70, ["sbatch", 0, "x" * 64, None, None], "64 bytes"),
        ("sbatch " + "名" * 30, ["sbatch", 0, "名" * 21, None, None], "of whole characters"),
        ("sbatch a\x1b[31m.sh", ["sbatch", 0, None, None, None], "nothing that steers a terminal"),
    ],
)
def test_a_command_line_is_five_things(line: str, outputs: list[Any], why: str) -> None:
    from tests.native.test_oracle import KNOWN

    rows, _ = helper.dump(line.encode() + b"\x1f\x1f\n", "submitted,skip", Format(b"\x1f", ends=True, known=KNOWN))
    assert rows == [["job", *outputs]], why


@pytest.mark.parametrize(
    ("words", "column"), [(programs.FRAMEWORKS, 3), (programs.CONTAINERS, 4)], ids=["frameworks", "containers"]
)
def test_every_program_of_the_list_is_known_by_its_name(words: dict[str, str], column: int) -> None:
    lines = [f"srun {word} x" if word.startswith("-") else f"srun /opt/bin/{word} x" for word in words]
    form = Format(b"\x1f", ends=True, known=programs.known())
    rows, _ = helper.dump("".join(f"{line}\x1f\x1f\n" for line in lines).encode(), "submitted,skip", form)
    assert [row[1:][column] for row in rows] == list(words.values())


PACK = b"\x1e"
PACKED = "jobid!,rawid!,time!,text,free,submitted,free,time!"


def packed(text: str) -> bytes:
    """`;` is the byte between packed columns."""
    return sealed(text).replace(b";", PACK)


def _without_size(kept: bytes) -> bytes:
    return b"not stored" if kept.endswith(b" bytes, not stored)") else kept


def run_packed(db: Path, text: str, *args: str, many: int = 3) -> helper.Ran:
    reject = ("--reject-sql", "INSERT INTO bad (line, reason, raw) VALUES (?1, ?2, ?3)")
    kept = "INSERT INTO t VALUES (?8, ?9, ?10, ?11, ?17)"
    return store(db, packed(text), PACKED, "--packed", str(many), "--sql", kept, *reject, *args)


@pytest.mark.parametrize(
    ("text", "rows", "bad", "why"),
    [
        ("7;7;5!|a|c|srun x|n|5!|\n", [(7, 5, "a", "c", "n")], [], "a record"),
        ("7;7;5!|a;b|c;\n8;8;5;|srun x|n;;;|5!|\n", [(7, 5, "a\x1eb", "c\x1e\n8\x1e8\x1e5\x1e", "n\x1e\x1e\x1e")], [],
         "the byte in a user's text, with a newline before it, is text"),
        ("7;7;5!|a|8;8;5\x1f|srun x|n|5!|\n", [(7, 5, "a", "8\x1e8\x1e5\x1f", "n")], [],
         "so is the delimiter's first byte"),
        ("7;7;9;5!|a|c|srun x|n|5!|\n", [], [(1, "columns: 9, expected: 8")], "one too many is not a record"),
        ("7;5!|a|c|srun x|n|5!|\n", [], [(1, "columns: 7, expected: 8")], "one too few neither"),
        ("|a|c|srun x|n|5!|\n", [], [(1, "columns: 6, expected: 8")], "nor none"),
        ("7;7;5!|a|c|n|5!|\n", [], [(1, "columns: 7, expected: 8")], "a delimiter too few"),
        ("7;7;5|a|c|srun x|n|5!|\n", [], [(1, "column 3 (time): not sealed")], "a time that somebody typed"),
        ("7;7;9;5!|a|c|srun x|n|5!|\n8;8;5!|a|c|srun x|n|5!|\n", [(8, 5, "a", "c", "n")],
         [(1, "columns: 9, expected: 8")], "the next one is unharmed"),
    ],
)  # fmt: skip
def test_packed_columns_are_told_apart_by_one_byte_that_is_text_behind_them(
    tmp_path: Path, text: str, rows: list[Any], bad: list[Any], why: str
) -> None:
    db = helper.table(tmp_path / "t.db", "id INTEGER", "time INTEGER", "a TEXT", "c TEXT", "n TEXT")
    ran = run_packed(db, text)
    assert ran.code == 0, ran.error
    assert helper.rows(db) == rows, why
    assert helper.rows(db, "SELECT line, reason FROM bad ORDER BY line") == bad, why
    assert sum(ran.counts[name] for name in ("bytes_records", "bytes_broken", "bytes_blank")) == len(packed(text))


@pytest.mark.parametrize(
    ("text", "kept", "why"),
    [
        ("7;7;5!|a|c|s3cr3t|n|5|\n", [b"7\x1f7\x1f5\x1fa\x1fc"], "up to the command line"),
        ("7;7;5|a|c|s3cr3t|n|5!|\n", [b"(44 bytes, not stored)"], "nor what lacks the seal"),
        ("7;7;9;5!|a|c|s3cr3t|n|5!|\n", [b"7\x1f7\x1f9\x1e5\x1fa\x1fc"], "with a column too many"),
        ("7;5!|a|c|s3cr3t|n|5!|\n", [b"(42 bytes, not stored)"], "with one too few"),
        (
            "7;7;5!|a|c|d|srun\n7;7;s3cr3t|n|5!|\n",
            [b"7\x1f7\x1f5\x1fa\x1fc", b"(30 bytes, not stored)"],
            "nor the end of one",
        ),
    ],
)
def test_no_command_line_is_kept_with_packed_columns_that_are_set_aside(
    tmp_path: Path, text: str, kept: list[bytes], why: str
) -> None:
    db = helper.table(tmp_path / "t.db", "id INTEGER", "time INTEGER", "a TEXT", "c TEXT", "n TEXT")
    run_packed(db, text)
    found = [row[0] for row in helper.rows(db, "SELECT raw FROM bad ORDER BY line")]
    assert found
    assert not any(b"s3cr3t" in one for one in found), why
    assert [_without_size(one) for one in found] == [_without_size(one) for one in kept], why


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--packed", "5"), "a free column"),
        (("--packed", "9"), "more than there are"),
        (("--packed", "-1"), "not a number"),
        (("--packed", "3", "--delimiter", "\x1e"), "the same byte"),
        (("--packed", "3", "--fields", "JobID=0"), "headers"),
    ],
)
def test_columns_that_cannot_be_packed_are_refused(args: tuple[str, ...], why: str) -> None:
    ran = helper.run(b"", "--parse-only", "--ends", "--columns", PACKED, *args)
    assert ran.code == 1, why
    assert ran.error.startswith("error: "), why
