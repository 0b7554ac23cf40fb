"""What is refused, with which words: each slip is named with its place and the nearest right word."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from adminkit.errors import AdminkitError
from adminkit.policy.load import examine, find_policy, load_policy
from adminkit.policy.model import Range
from tests.support.policies import SHIPPED, parsed, policy, rules

#: (TOML, how the place begins, a part of what is said, a part of the hint)
SLIPS = [
    ('version = 1\nfial = "open"', "fial", "no such key", "did you mean fail?"),
    ("", "version", "is missing", "version = 1"),
    ("version = 2", "version", "knows version 1", ""),
    ("version = true", "version", "knows version 1", ""),
    ('version = 1\nfail = "opn"', "fail", "'opn' is not one of open, closed", "did you mean open?"),
    ('version = 1\nrecord = "admin-comment"', "record", "is not one of", "did you mean admin_comment?"),
    ('version = 1\nlanguages = ["en", "jp"]', "languages[2]", "'jp' is not one of en, ja", "did you mean ja?"),
    ("version = 1\nlanguages = []", "languages", "an empty list", ""),
    ("version = 1\nrisk = 0.04", "risk", "greater than or equal to 0.05", ""),
    ('version = 1\nmenu = ["90s"]', "menu[1]", "whole minutes", ""),
    ('version = 1\n[routing]\nacton = "off"', "routing.acton", "no such key", "did you mean action?"),
    ('version = 1\nrouting = "off"', "routing", "a section belongs here", ""),
    ("version = 1\n[texts.fr]", "texts.fr", "'fr' is not one of en, ja", "known: en, ja"),
    ('version = 1\n[texts.en]\nmax_limt = "x"', "texts.en.max_limt", "no such text", "did you mean max_limit?"),
    ('version = 1\n[texts.en]\nmax_limit.rejct = "x"', "texts.en.max_limit.rejct", "no such outcome", "reject"),
    ('version = 1\n[texts.en]\nfit.reject = "x"', "texts.en.fit.reject", "fit has one text", ""),
    ('version = 1\n[texts.en]\nhint = "{saef}"', "texts.en.hint", "{saef}", "did you mean safe?"),
    ('version = 1\n[texts.en]\nhint = "{safe"', "texts.en.hint", "a brace is not matched", ""),
    ('version = 1\n[texts.en]\nhint = "a\\nb"', "texts.en.hint", "one line", ""),
    ("version = 1\n[incentives]\nmulti_node_hour = 3", "incentives.multi_node_hour", "no such key", "multi_node_hours"),
    (
        "version = 1\n[incentives]\nmulti_node_hours = -1",
        "incentives.multi_node_hours",
        "greater than or equal to 0",
        "",
    ),
    (rules("a: max_limt = '1h'"), "rules[1].max_limt (a)", "no such key", "did you mean max_limit?"),
    (rules("a: cpus = 1", "b: max_limit = 60"), "rules[2].max_limit (b)", 'write "60m" or "60s"', ""),
    (rules("a: max_limit = '60'"), "rules[1].max_limit (a)", 'write "60m" or "60s"', ""),
    (rules("a: max_limit = '3 days'"), "rules[1].max_limit (a)", 'not a duration: 3 days (write units ("15m"', ""),
    (rules("a: max_limit = '0h'"), "rules[1].max_limit (a)", "more than nothing", ""),
    (rules("a: max_limit = '9999w'"), "rules[1].max_limit (a)", "at most 3,660 days", ""),
    (rules("a: max_limit = true"), "rules[1].max_limit (a)", "as Slurm does", ""),
    (rules("a: gpus = '8-1'"), "rules[1].gpus (a)", "8 is above 1", ""),
    (rules("a: gpus = '-'"), "rules[1].gpus (a)", 'write a number, "1-8"', ""),
    (rules("a: gpus = 'one'"), "rules[1].gpus (a)", 'write a number, "1-8"', ""),
    (rules("a: gpus = -1"), "rules[1].gpus (a)", 'write a number, "1-8"', ""),
    (rules("a: gpus = [1, 2, 3]"), "rules[1].gpus (a)", 'write a number, "1-8"', ""),
    (rules("a: gpus = true"), "rules[1].gpus (a)", 'write a number, "1-8"', ""),
    (rules("a: action = 'warn'"), "rules[1] (a)", "a rule checks one thing; give it one of", ""),
    (rules("a: gpus = 1; cpus = 1"), "rules[1] (a)", "gpus and cpus are 2 rules", ""),
    (rules("a: require_limit = false"), "rules[1].require_limit (a)", "False is not one of True", ""),
    (rules("a b: cpus = 1"), "rules[1].name (a b)", "letters, digits", ""),
    (
        rules("a: cpus = 1; action = 'refuse'"),
        "rules[1].action (a)",
        "is not one of reject, amend, warn",
        "did you mean reject?",
    ),
    (
        rules("a: cpus = 1; classes = ['singel-gpu']"),
        "rules[1].classes[1] (a)",
        "is not one of",
        "did you mean single-gpu?",
    ),
    (rules("a: cpus = 1; queues = []"), "rules[1].queues (a)", "an empty list", ""),
    (rules("a: cpus = 1; queues = ['gq', 'gq']"), "rules[1].queues (a)", "gq appears twice", ""),
    (rules("a: cpus = 1; queues = ['gq,gq-short']"), "rules[1].queues[1] (a)", "not the name of a queue", ""),
    (rules("a: cpus = 1; queues = 'gq'"), "rules[1].queues (a)", "valid tuple", ""),
    (rules("a: cpus = 1; from = '2027-01-01'"), "rules[1].from (a)", "without quotes", ""),
    (rules("a: cpus = 1; from = 5"), "rules[1].from (a)", "write a date or a date with a time", ""),
    (rules("a: cpus = 1; text.en = ' '"), "rules[1].text.en (a)", "an empty text", ""),
    (rules("a: cpus = 1; text.fr = 'x'"), "rules[1].text.fr (a)", "no such key", ""),
    (rules("a: cpus = 1; text.en = '{limt}'"), "rules[1].text.en (a)", "{limt}", "did you mean limit?"),
    ("version = 1\n[[rules]]\ncpus = 1", "rules[1].name", "is missing", ""),
    ("version = 1\nrules = [3]", "rules[1]", "a section belongs here", ""),
]


#: (a line of a rule, or a section; the last value that is accepted; the first that is not)
ENDS = [
    (rules("a: max_limit = '{}'"), "3660d", "3661d"),
    (rules("a: max_limit = '{}'"), "1m", "0m"),
    ("version = 1\n[gpus_per_user]\ngq = {}", "1", "0"),
    ("version = 1\n[gpus_per_user]\ngq = {}", "1_000_000", "1_000_001"),
    ("version = 1\n[incentives]\nmin_cpu_use = {}", "0", "-0.01"),
    ("version = 1\n[incentives]\nmin_cpu_use = {}", "0.99", "1"),
]


@pytest.mark.parametrize(("text", "last", "beyond"), ENDS)
def test_a_range_includes_its_ends(text: str, last: str, beyond: str) -> None:
    assert parsed(text.replace("{}", last))[1] == []
    assert len(parsed(text.replace("{}", beyond))[1]) == 1


@pytest.mark.parametrize(("text", "place", "said", "hint"), SLIPS)
def test_a_slip_is_named_with_its_place(text: str, place: str, said: str, hint: str) -> None:
    _, problems = parsed(text)
    found = [one for one in problems if one.places[0] == place]
    assert found, [str(one) for one in problems]
    assert said in found[0].message
    assert hint in found[0].hint


def test_every_slip_of_a_file_is_found_at_once() -> None:
    _, problems = parsed(rules("a: max_limt = '1h'", "b: gpus = '8-1'") + '[routing]\naction = "of"')
    assert [one.places[0] for one in problems] == ["routing.action", "rules[1].max_limt (a)", "rules[2].gpus (b)"]


def test_loading_says_the_first_and_how_many_more(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(rules("a: gpus = '8-1'", "b: gpus = 'x'"))
    with pytest.raises(AdminkitError) as caught:
        load_policy(path)
    assert caught.value.message == f"{path}: rules[1].gpus (a): '8-1': 8 is above 1 (1 more: adminkit policy check)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version = 1\nfail = open\n", "line 2"),
        ('version = 1\n[[rules]\nname = "a"\n', "line 2"),
        ("version = 1\nmenu = [\n", "line 2, where the file ends"),
        ("version = 1\n[exempt]\nusers = []\n[exempt]\n", "line 4"),
    ],
)
def test_a_slip_of_toml_is_named_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(AdminkitError) as caught:
        examine(path)
    assert str(path) in caught.value.message
    assert said in caught.value.message


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AdminkitError) as caught:
        examine(tmp_path / "none.toml")
    assert "no such file" in caught.value.message
    assert "--policy" in caught.value.hint


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1", Range(1, 1)),
        ("0", Range(0, 0)),
        ("'8'", Range(8, 8)),
        ("'1-8'", Range(1, 8)),
        ("' 1 - 8 '", Range(1, 8)),
        ("'2-'", Range(2, None)),
        ("'-4'", Range(None, 4)),
        ("[1, 8]", Range(1, 8)),
    ],
)
def test_a_range_is_written_in_several_ways(written: str, meant: Range) -> None:
    assert policy(rules(f"a: gpus = {written}")).rules[0].value == meant


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("72:00:00", 259200), ("3-00:00:00", 259200), ("3-12", 302400), ("30:00", 1800), ("24h", 86400), ("1h30m", 5400)],
)
def test_a_limit_is_written_as_slurm_writes_it(written: str, seconds: int) -> None:
    assert policy(rules(f"a: max_limit = '{written}'")).rules[0].value == seconds


@pytest.mark.parametrize(
    ("written", "epoch"),
    [
        ("2027-04-01", 1806537600),
        ("2027-04-01T09:30:00", 1806571800),
        ("2027-04-01T09:30:00+09:00", 1806539400),
    ],
)
def test_a_date_without_a_zone_is_the_hosts(written: str, epoch: int) -> None:
    assert policy(rules(f"a: cpus = 1; from = {written}")).rules[0].from_ == epoch


def test_the_example_is_used_where_no_policy_is_written(tmp_path: Path) -> None:
    assert find_policy(None, tmp_path / "policy.toml") == (SHIPPED, True)
    (tmp_path / "policy.toml").write_text("version = 1")
    assert find_policy(None, tmp_path / "policy.toml") == (tmp_path / "policy.toml", False)
    assert find_policy(tmp_path / "x.toml", tmp_path / "policy.toml") == (tmp_path / "x.toml", False)


def test_the_example_is_right_by_itself_and_on_its_cluster() -> None:
    queues = {"gq": 72 * 3600, "gq-short": 3 * 3600, "gq-middle": 168 * 3600, "gq-long": 336 * 3600}
    found, problems = examine(SHIPPED, dict(queues), UTC)
    assert found is not None
    assert problems == []
