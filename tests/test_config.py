"""Settings: flag > environment > file > default, and every mistake is named."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from adminkit import config
from adminkit.config import Config, Report, Sync, chosen, keys, load
from adminkit.errors import AdminkitError
from adminkit.ingest.sync_run import Options
from adminkit.stats.select import Filter

EXAMPLE = Path(__file__).parent.parent / "etc" / "adminkit.toml"
NOWHERE = Path("/nonexistent/adminkit.toml")


def from_text(tmp_path: Path, text: str, **environ: str) -> Config:
    file = tmp_path / "adminkit.toml"
    file.write_text(text)
    return load({"ADMINKIT_CONFIG": str(file), **environ})


def test_without_a_file_or_an_environment_the_defaults_hold() -> None:
    assert load({}, NOWHERE) == Config()
    assert load({}, NOWHERE).file is None


def test_the_system_file_is_read_where_it_exists_and_a_named_one_goes_before_it(tmp_path: Path) -> None:
    system, own = tmp_path / "system.toml", tmp_path / "own.toml"
    system.write_text("[sync]\njobs = 2\n")
    own.write_text("[sync]\njobs = 3\n")
    assert load({}, system).sync.jobs == 2
    assert load({}, system).file == system
    named = load({"ADMINKIT_CONFIG": str(own)}, system)
    assert (named.sync.jobs, named.file) == (3, own)


@pytest.mark.parametrize(
    ("flag", "environ", "text", "expected", "why"),
    [
        (None, {}, "", 1, "nothing said: the default"),
        (None, {}, "[sync]\njobs = 2", 2, "the file beats the default"),
        (None, {"ADMINKIT_SYNC_JOBS": "3"}, "[sync]\njobs = 2", 3, "the environment beats the file"),
        (4, {"ADMINKIT_SYNC_JOBS": "3"}, "[sync]\njobs = 2", 4, "the flag beats everything"),
        (None, {"ADMINKIT_SYNC_JOBS": ""}, "[sync]\njobs = 2", 2, "an empty variable says nothing"),
    ],
)
def test_precedence(
    tmp_path: Path, flag: int | None, environ: dict[str, str], text: str, expected: int, why: str
) -> None:
    assert chosen(flag, from_text(tmp_path, text, **environ).sync.jobs) == expected, why


def test_a_flag_that_is_false_or_zero_still_beats_the_setting() -> None:
    assert chosen(False, True) is False
    assert chosen(0, 60) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('db = "/srv/trace.db"', Config(db=Path("/srv/trace.db"))),
        ('[sync]\nclusters = ["a", "b"]', Config(sync=Sync(clusters=("a", "b")))),
        ("[sync]\noverlap_hours = 2.5", Config(sync=Sync(overlap_hours=2.5))),
        ("[report]\nmin_elapsed = 0", Config(report=Report(min_elapsed=0))),
    ],
)
def test_a_file_sets_what_it_names_and_leaves_the_rest(tmp_path: Path, text: str, expected: Config) -> None:
    assert from_text(tmp_path, text) == expected


def test_the_environment_sets_any_key_and_lists_are_cut_at_commas() -> None:
    settings = load({"ADMINKIT_DB": "/x.db", "ADMINKIT_SYNC_CLUSTERS": "a, b", "ADMINKIT_SYNC_STEPS": "false"}, NOWHERE)
    assert settings == Config(db=Path("/x.db"), sync=Sync(clusters=("a", "b"), steps=False))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[sync]\nrow_bugdet = 1", "no such setting: sync.row_bugdet", "did you mean sync.row_budget?"),
        ("jobs = 3", "no such setting: jobs", "did you mean sync.jobs?"),
        ("[snyc]\njobs = 3", "no such section: snyc", "did you mean sync?"),
        ("sync = 3", "sync is a section, not a setting", "[sync]"),
        ("[sync]\njobs = 0", "sync.jobs = 0", "the default is 1"),
        ("[sync]\noverlap_hours = 1", "greater than or equal to 2", "the default is 2"),
        ('[report]\nstates = "TIMEOUT"', "report.states = 'TIMEOUT'", '["COMPLETED", "TIMEOUT"]'),
        ("[sync]\ntimeout = 0", "sync.timeout = 0", "the default is 300"),
        ("[sync]\nsince = 3", "sync.since = 3", "docs/config.md"),
        ('[sync]\n\ndb = "x', "line 3", "quotes"),
        ("db = \ufffd", "line 1", "quotes"),
    ],
)
def test_a_mistake_in_the_file_names_the_file_the_key_and_the_way_out(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(AdminkitError) as caught:
        from_text(tmp_path, text)
    assert message in caught.value.message
    assert str(tmp_path / "adminkit.toml") in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("key", ["menu = [900]", "risk = 0.1"])
def test_a_setting_that_stands_in_policy_toml_now_is_refused_with_its_new_place(tmp_path: Path, key: str) -> None:
    name = key.split()[0]
    with pytest.raises(AdminkitError, match=f"recommend.{name} has moved to policy.toml") as caught:
        from_text(tmp_path, f"[recommend]\n{key}")
    assert f"write {name} = " in caught.value.hint and "/etc/adminkit/policy.toml" in caught.value.hint
    with pytest.raises(AdminkitError, match=f"ADMINKIT_RECOMMEND_{name.upper()}: .* has moved") as caught:
        load({f"ADMINKIT_RECOMMEND_{name.upper()}": "1"}, NOWHERE)
    assert caught.value.hint.startswith(f"unset ADMINKIT_RECOMMEND_{name.upper()}, and write {name} = ")


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    with pytest.raises(AdminkitError) as caught:
        load({"ADMINKIT_SYNC_JOBS": "many"}, NOWHERE)
    assert caught.value.message.startswith("ADMINKIT_SYNC_JOBS = 'many'")


@pytest.mark.parametrize(("make", "why"), [(None, "missing"), (Path.mkdir, "a folder"), (bytes, "not UTF-8")])
def test_a_config_that_cannot_be_read_is_said_and_not_read_over(tmp_path: Path, make: object, why: str) -> None:
    path = tmp_path / "adminkit.toml"
    if make is Path.mkdir:
        path.mkdir()
    elif make is bytes:
        path.write_bytes(b'db = "\xff"')
    with pytest.raises(AdminkitError, match=str(path)):
        load({"ADMINKIT_CONFIG": str(path)})


def test_the_example_shows_every_key_with_its_default_and_a_line_of_comment() -> None:
    lines = EXAMPLE.read_text().splitlines()
    active = flat(tomllib.loads("\n".join(lines)))
    everything = flat(tomllib.loads("\n".join(line.removeprefix("#") if is_unset(line) else line for line in lines)))
    assert active == {key: plain(value) for key, value in keys() if value is not None}
    assert list(everything) == [key for key, _ in keys()]
    for number, line in enumerate(lines):
        if "=" in line and not line.startswith("# "):
            assert lines[number - 1].startswith("# "), f"no comment above {line}"


def test_the_example_itself_is_valid_and_changes_nothing() -> None:
    assert load({"ADMINKIT_CONFIG": str(EXAMPLE)}) == Config()


def test_reading_the_settings_without_a_file_loads_no_pydantic() -> None:
    code = "import sys; from adminkit.config import Path, load; load({}, Path('/x')); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def is_unset(line: str) -> bool:
    return line.startswith("#") and not line.startswith("# ")


def flat(values: dict[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value


def test_sync_and_reports_by_themselves_do_what_the_defaults_say() -> None:
    by_itself = {field.name: field.default for field in dataclasses.fields(Options)}
    for name, value in dataclasses.asdict(Sync()).items():
        if name == "overlap_hours":
            assert by_itself["overlap"] == value * 3600
        elif name not in ("clusters", "source", "option_file"):  # who is asked, not how
            assert by_itself["budget" if name == "row_budget" else name] == value, name
    assert (Filter(checkpoint_code=85).states, Filter(checkpoint_code=85).min_elapsed) == (
        Report().states,
        Report().min_elapsed,
    )


def test_values_are_shown_as_toml_writes_them() -> None:
    shown = {config.shown(value): value for value in (True, 2.0, 1.5, 7, "a", ("a", "b"))}
    assert list(shown) == ["true", "2", "1.5", "7", '"a"', '["a", "b"]']


ALIASES = [
    (["fed=alpha+beta"], ["fed"], ["alpha", "beta"], "a federation"),
    (["fed = alpha + beta"], ["gamma", "fed", "alpha"], ["gamma", "alpha", "beta"], "each once, in the order typed"),
    (["beta=alpha+beta"], ["beta"], ["alpha", "beta"], "a cluster that was renamed keeps its old runs"),
    (["beta=alpha+beta"], ["alpha"], ["alpha"], "the old name is still the old cluster's"),
    (["fed=alpha+beta"], [], [], "none named: all"),
]


@pytest.mark.parametrize(("aliases", "named", "expected", "why"), ALIASES)
def test_an_alias_stands_for_its_clusters(
    aliases: list[str], named: list[str], expected: list[str], why: str, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(f"[report]\naliases = {aliases!r}\n")
    assert load({"ADMINKIT_CONFIG": str(tmp_path / "a.toml")}).report.clusters(named) == expected, why


NO_WORDS = [
    *(("report_aliases", alias, "an alias is written fed=alpha+beta")
      for alias in ("fed", "=alpha", "fed=", "fed=alpha+", "fed=+alpha")),
    ("feedback_quiet_days", "someday", "a day is mon, tue"),
    ("feedback_holdout_until", "next year", "a date is written 2026-12-29"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "text", "message"), NO_WORDS)
def test_a_word_of_another_form_is_answered_with_the_form(key: str, text: str, message: str) -> None:
    with pytest.raises(AdminkitError) as caught:
        load({f"ADMINKIT_{key.upper()}": text}, Path("/nowhere"))
    assert message in caught.value.message
