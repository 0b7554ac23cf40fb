"""Maps: what is wrong in one is said with the nearest right word, before anything is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError, UsageError
from adminkit.ingest.sources.mapping import FIELDS, KEYS, SETTINGS, TABLES, UNITS, find_map, load_map, shipped
from adminkit.ingest.sources.table import row_reader
from adminkit.job import Job

NEEDED = 'job_id_raw = { row = 1 }\nsubmit_time = "t"\n'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "my.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("zona = 'UTC'\n[fields]\n" + NEEDED, "no such key: zona", "did you mean zone?"),
        (f"[fields]\n{NEEDED}submit = 'x'", "no such field: submit", "did you mean submit_time?"),
        (f"[fields]\n{NEEDED}elapsed = {{ colum = 'x' }}", "no such key of elapsed: colum", "did you mean column?"),
        (f"[fields]\n{NEEDED}elapsed = {{ column = 'x', unit = 'minuts' }}", "no such unit of elapsed: minuts",
         "did you mean minutes?"),
        (f"[fields]\n{NEEDED}mem = {{ column = 'x', unit = 'seconds' }}", "no such unit of mem: seconds", "known:"),
        (f"[fields]\n{NEEDED}user = {{ column = 'x', unit = 'count' }}", "user does not accept a unit", "leave it out"),
        (f"[fields]\n{NEEDED}cpus = {{ column = 'x', prefix = 'a' }}", "cpus does not accept a prefix", "names"),
        (f"[fields]\n{NEEDED}cpus = {{ column = 'x', time = 'iso' }}", "cpus does not accept a time", "submit_time"),
        (f"[fields]\n{NEEDED}cpus = {{ column = 'x', constant = 1 }}", "cpus needs one of column, constant", "column"),
        (f"[fields]\n{NEEDED}cpus = {{}}", "cpus needs one of column, constant", "column"),
        (f"[fields]\n{NEEDED}cpus = 4", "cpus is neither a column's name nor a table", "their column"),
        (f"[fields]\n{NEEDED}cpus = {{ constant = true }}", "cpus is neither a string nor a number", ""),
        (f"[fields]\n{NEEDED}cpus = {{ row = 1 }}", "row must be the number of the first row", "of no other field"),
        ("[fields]\nsubmit_time = 't'\njob_id_raw = { row = -1 }", "row must be the number of the first row", ""),
        ("[fields]\nsubmit_time = 't'", "[fields] lacks job_id_raw, so the rows have no key", "job_id_raw = "),
        ("", "[fields] lacks job_id_raw", ""),
        ("fields = 1", "fields must be a table", "[fields]"),
        (f"time = 'epoc'\n[fields]\n{NEEDED}", "no such time: epoc", "did you mean epoch?"),
        (f"[fields]\n{NEEDED}[states]\nPass = 'COMPLETE'", "no such state of Slurm's: COMPLETE", "COMPLETED?"),
        (f"[fields]\n{NEEDED}[states]\nPass = 1", "the state of Pass must be a string", ""),
        (f"unknown = '-'\n[fields]\n{NEEDED}", "unknown must be a list of strings", ""),
        (f"zone = 1\n[fields]\n{NEEDED}", "zone must be a string", ""),
        (f"delimiter = '||'\n[fields]\n{NEEDED}", "delimiter must be one character", ""),
        (f"[fields]\n{NEEDED}end_time = {{ sum = ['start_time', 'elapsed'] }}", "is a sum with start_time", "add it"),
        (f"[fields]\n{NEEDED}end_time = {{ sum = ['submit_time', 'elapsd'] }}", "no such duration", "elapsed?"),
        (f"[fields]\n{NEEDED}end_time = {{ sum = ['elapsed', 'elapsed'] }}", "no such time in the sum", ""),
        (f"[fields]\n{NEEDED}elapsed = {{ sum = ['end_time', 'elapsed'] }}", "elapsed cannot be a sum", ""),
        (f"[fields]\n{NEEDED}end_time = {{ sum = ['start_time', {{ column = 'd' }}] }}\n"
         "start_time = { sum = ['end_time', { column = 'd' }] }", "is a sum of itself", "needs a column"),
        ("not toml", "is not TOML", "quotes"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_map_is_said_with_the_nearest_word(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as error:
        load_map(written(tmp_path, text))
    assert message in error.value.message and hint in error.value.hint
    assert "my.toml" in error.value.message


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("cpus = 'cpuss'", "no such column: cpuss, which my.toml names", "did you mean cpus?"),
        ("cpus = 'twice'", "the table has 2 columns twice", "names of their own"),
        ("cpus = { constant = 'many' }", "the constant of cpus: 'many' is not a number", "correct the map"),
    ],
)
def test_a_map_that_does_not_fit_the_table_is_refused(tmp_path: Path, text: str, message: str, hint: str) -> None:
    table = load_map(written(tmp_path, f"[fields]\n{NEEDED}{text}\n"))
    with pytest.raises(UsageError) as error:
        row_reader(table, ["t", "cpus", "twice", "twice"], "c", None)
    assert message in error.value.message and hint in error.value.hint


def test_a_map_that_is_not_there_or_no_map_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such map: phily") as error:
        find_map("phily")
    assert error.value.hint.startswith("did you mean philly?")
    with pytest.raises(AdminkitError, match=r"couldn't read .*: no such file or directory"):
        load_map(find_map("./philly.toml"))
    big = written(tmp_path, "#" * (1 << 20))
    with pytest.raises(AdminkitError, match="is larger than 256 KiB"):
        load_map(big)


def test_a_map_fills_fields_of_a_job_and_no_others() -> None:
    assert set(FIELDS) <= set(Job.__dataclass_fields__)


@pytest.mark.parametrize("name", ["eagle", "helios", "philly", "pm100"])
def test_the_maps_that_come_with_adminkit_are_found_by_name_and_right(name: str) -> None:
    assert list(shipped()) == ["eagle", "helios", "philly", "pm100"]
    table = load_map(find_map(name))
    assert table.about and table.zone
    columns = [source.column for source in table.fields.values() if source.column]
    assert row_reader(table, list(dict.fromkeys(columns)), "c", None).columns[:3] == (
        "cluster",
        "job_id_raw",
        "submit_time",
    )


PAGE = Path(__file__).parents[3] / "docs" / "import-maps.md"


def test_the_page_on_maps_has_every_key_field_and_unit_and_its_example_is_right(tmp_path: Path) -> None:
    text = PAGE.read_text()
    words = set(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)))
    units = {unit for known in UNITS.values() for unit in known}
    assert {*FIELDS, *SETTINGS, *(f"[{name}]" for name in TABLES), *units, *shipped()} <= words
    assert all(f"{key} = " in text for key in KEYS if key not in ("unit", "time"))
    (example,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    table = load_map(written(tmp_path, example))
    columns = [source.column for source in table.fields.values() if source.column]
    assert row_reader(table, [*columns, "wait_min"], "old", None).columns
