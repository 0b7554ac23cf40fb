"""Letters as people read them: golden files in two languages, every number against the trace, names that attack."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, replace
from datetime import UTC
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from adminkit.config import Config, Feedback
from adminkit.errors import AdminkitError
from adminkit.feedback import template_values
from adminkit.feedback.charge_letters import Charged
from adminkit.feedback.chart import Bar
from adminkit.feedback.compose import Composer
from adminkit.feedback.format import SUBJECT
from adminkit.feedback.letter import Letter
from adminkit.feedback.templates import TEMPLATES, Templates
from adminkit.installed import data_file
from adminkit.job import Job
from adminkit.messages import LANGUAGES
from adminkit.recommend.advice import walltime
from adminkit.recommend.menu import Offer
from adminkit.stats.runs import Kind, runs
from tests.conftest import GOLDEN
from tests.feedback.letters import DAY, DUES, JOBS, LAST, NEXT_MONDAY, NOW, WEEK, due, end, run, trace, write
from tests.support.builders import HOUR, MONDAY, make_trace
from tests.support.uses import make_used
from tools import docs


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trace(tmp_path_factory.mktemp("letters") / "t.db")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", DUES)
def test_a_letter_reads_as_it_did(known: Path, golden: Callable[[str, str], None], kind: str, language: str) -> None:
    (letter,) = write(known, DUES[kind](language))
    golden(f"letters/{kind}-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
    golden(f"letters/{kind}-{language}.html", letter.html)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", DUES)
def test_a_users_letter_leads_to_the_sites_page_where_there_is_one(known: Path, kind: str, language: str) -> None:
    page = "https://hpc.example.org/limits?a=1&b=" + "c" * 120
    (plain,), (letter,) = (write(known, DUES[kind](language), offer=Offer(help_url=url)) for url in (None, page))
    if kind == "operator":
        assert letter == plain
        return
    before, after = plain.text.splitlines(), letter.text.splitlines()
    added = [line for line in after if line not in before]
    assert len(added) == 1 and added[0].endswith(f": {page}")
    assert after[after.index(added[0]) - 1] == "--", "it begins the end of the letter"
    assert [line for line in after if line != added[0]] == before
    assert letter.html.count(escape(page)) == 2
    assert f'href="{escape(page)}">{escape(page)}</a>' in letter.html


def test_the_readme_shows_a_letter_as_it_is(known: Path) -> None:
    (letter,) = write(known, DUES["end"]())
    begin = letter.text.partition("\nOn the command line")[0].rstrip()
    assert f"Subject: {letter.subject}\n\n{begin}\n" in (docs.ROOT / "README.md").read_text()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", DUES)
def test_the_text_fits_a_terminal_of_80_columns(known: Path, kind: str, language: str) -> None:
    (letter,) = write(known, DUES[kind](language))
    assert max(cell_len(line) for line in letter.text.splitlines()) <= 80


def numbers(text: str) -> set[str]:
    """Every number as it stands there, 1,234 and 0.5 too."""
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))


def shown(seconds: int) -> set[str]:
    """What a duration of less than 100 h says: hours and minutes, rounded to minutes."""
    minutes = round(seconds / 60)
    return {str(minutes // 60), str(minutes % 60)} if minutes >= 60 else {str(minutes)}


def test_every_number_about_a_job_is_that_of_the_trace(known: Path) -> None:
    (letter,) = write(known, end())
    assert LAST.elapsed is not None
    with closing(sqlite3.connect(known)) as db:
        mine = list(runs(db, ["ada"], ["aaic"], checkpoint_code=85))
        advice = walltime(mine, Kind("aaic", "ada", "train_resnet", "gq", 1, 8, 1, 72 * HOUR), Offer())
    assert advice.limit is not None and advice.risk is not None
    last = [one for one in JOBS if one.job_name == "train_resnet"][-6:]
    expected = {"60", "72"} | shown(LAST.elapsed) | {f"{100 * LAST.elapsed / (72 * HOUR):.0f}"}
    expected |= {f"{advice.limit // 3600:02}", "00", str(advice.tried), f"{100 * advice.risk:.0f}"} - {"0"}
    expected |= {f"{100 * 10_000 / (LAST.elapsed * 8):.0f}", "8", "3.1", "64"}
    for one in last:
        assert one.end_time is not None and one.elapsed is not None
        days = (one.end_time - MONDAY) // DAY + 5
        expected |= {str(days), f"{one.end_time % DAY // 3600:02}", "00"} | shown(one.elapsed)
    found = numbers(letter.text + letter.subject)
    assert advice.over == 0
    assert found - {"0"} == expected - {"0"}


def test_every_number_of_a_week_is_that_of_the_trace(known: Path) -> None:
    """Counted by hand: which runs of ada ended in the week, and what they asked for."""
    (letter,) = write(known, due("digest"))
    week = [
        one
        for one in JOBS
        if one.user == "ada" and one.state != "FAILED" and MONDAY <= (one.end_time or 0) < NEXT_MONDAY
    ]
    asked, used = sum(one.time_limit or 0 for one in week), sum(one.elapsed or 0 for one in week)
    unused = sum((one.time_limit or 0) - (one.elapsed or 0) for one in week)
    assert f"{len(week)} runs of yours" in letter.text
    assert f"asked for {asked / 3600:,.0f} h and used {used / 3600:,.0f} h: {100 * used / asked:.0f} %." in re.sub(
        r"\s+", " ", letter.text
    )
    assert f"Your runs left {unused / 3600:,.0f} GPU-hours reserved" in letter.text
    before = [
        one
        for one in JOBS
        if one.user == "ada" and MONDAY - 4 * WEEK <= (one.end_time or 0) < MONDAY and one.state != "FAILED"
    ]
    share = sum(one.elapsed or 0 for one in before) / sum(one.time_limit or 0 for one in before)
    assert f"four weeks before ({100 * share:.0f} %)" in re.sub(r"\s+", " ", letter.text)
    # bob waited from the middle of Thursday on: every run of ada that began later ran while he stood in line
    line = MONDAY + 3 * DAY + DAY // 2
    waited = sum(
        ((one.time_limit or 0) - (one.elapsed or 0))
        * max((one.end_time or 0) - max(one.start_time or 0, line), 0)
        / (one.elapsed or 1)
        for one in week
        if (one.end_time or 0) < NEXT_MONDAY - 2 * HOUR
    )
    assert f"Of these, {waited / 3600:,.0f} GPU-hours" in re.sub(r"\s+", " ", letter.text)


#: What runs told of 1000 iterations, on two GPUs and on one; their nodes were their own, and had a meter.
SAID: dict[str, Any] = {
    "admin_comment": "pf1:it=1000",
    "node_list": "n1",
    "cpus": 8,
    "job_name": "bert",
    "time_limit": 2 * HOUR,
}
TOLD: Final = [
    *(run(700 + n, MONDAY + n * DAY, HOUR, gpus=2, energy=267 * HOUR, **SAID) for n in range(3)),
    *(run(710 + n, MONDAY - n * DAY, HOUR + 60, gpus=1, energy=190 * HOUR, **SAID) for n in range(2)),
]


@pytest.mark.parametrize(
    ("jobs", "language", "said", "why"),
    [
        (TOLD, "en", "On 1 GPU instead of 2, judging by the progress that its runs reported: about the same time,"
         " 29 % less energy.", "as recommend gpus says"),
        (TOLD, "ja", "時間はほぼ同じ、電力量が29 %減です。", "in Japanese"),
        ([replace(one, energy=None) for one in TOLD], "en", "about the same time, 49 % less GPU-hours.", "no meter"),
        (TOLD[:4], "en", "", "a single run on one GPU is no basis"),
        (TOLD[:3], "en", "", "one number of GPUs: nothing to compare"),
        ([replace(one, admin_comment=None) for one in TOLD], "en", "", "they told nothing"),
        ([replace(one, user="bob", uid=1002) for one in TOLD], "en", "", "another user's"),
    ],
)  # fmt: skip
def test_a_week_names_the_number_of_gpus_that_takes_less(
    tmp_path: Path, jobs: list[Job], language: str, said: str, why: str
) -> None:
    path = make_used(tmp_path / "t.db", [*JOBS, *jobs], (), [("n1", 8, 4)])
    (letter,) = write(path, due("digest", language))
    text = re.sub(r"\s+", " ", letter.text.replace("\xa0", " "))
    if not said:
        assert "--gpus" not in letter.text + letter.html, why
        return
    assert re.sub(r"\s+", "", said) in re.sub(r"\s+", "", text), why
    assert "    #SBATCH --gpus=1\n" in letter.text and "#SBATCH --gpus=1" in letter.html, why


def test_a_letter_never_names_another_user(known: Path) -> None:
    for kind in ("end", "array", "digest"):
        (letter,) = write(known, DUES[kind]())
        for other in ("bob", "eve", "fit", "post"):
            assert not re.search(rf"\b{other}\b", letter.text + letter.html), (kind, other)


@pytest.mark.parametrize(
    ("changes", "says", "why"),
    [
        ({"state": "TIMEOUT", "elapsed": 72 * HOUR}, "ended when it reached its time limit of 72 h", "cut off"),
        ({"elapsed": 60 * HOUR}, "That is a good estimate", "a good part was used"),
        ({"time_limit": None, "limit_kind": "unlimited"}, "no time limit of its own", "unlimited"),
        ({"job_name": "new", "uid": 1009, "user": "new"}, "nothing to paste", "no history"),
        ({"job_name": None}, "Your job - (60", "no name"),
        ({"queue": None, "gpus": None, "cpus": None, "nodes": None}, "queue -)", "nothing known of it"),
        ({"elapsed": 0}, "ran for 0 s", "no time at all"),
    ],
)
def test_what_a_run_was_decides_what_is_said(tmp_path: Path, changes: dict[str, object], says: str, why: str) -> None:
    last = replace(LAST, **changes)  # type: ignore[arg-type]
    (letter,) = write(trace(tmp_path / "t.db", [*JOBS[:40], last]), end(last))
    assert says in " ".join(letter.text.split()), why
    assert says in " ".join(letter.html.split()), why


FEW = {"en": "too few runs like this one yet", "ja": "同様の実行がまだ少ない"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("earlier", "last", "why"),
    [
        ({"state": "TIMEOUT", "elapsed": 2 * HOUR}, {}, "its user's other runs were cut off"),
        ({"state": "TIMEOUT", "elapsed": 2 * HOUR}, {"elapsed": 2 * HOUR}, "and it took all of its limit itself"),
        ({"elapsed": 100 * HOUR, "time_limit": 120 * HOUR}, {}, "its user's other runs need more than the queue has"),
        ({"elapsed": 110 * 60}, {"elapsed": 110 * 60}, "its user's other runs fit their limits"),
    ],
)
def test_a_first_run_is_told_that_it_is_one_and_nothing_of_runs_that_are_not_like_it(
    tmp_path: Path, earlier: dict[str, int | str], last: dict[str, int | str], why: str, language: str
) -> None:
    short: dict[str, object] = {"time_limit": 2 * HOUR, "elapsed": HOUR, "job_name": "other"}
    runs = [
        run(number, NEXT_MONDAY - (60 - number) * 10 * HOUR, **{**short, **earlier})  # type: ignore[arg-type]
        for number in range(20, 50)
    ]
    first = replace(LAST, **{**short, "job_name": "first", **last})  # type: ignore[arg-type]
    (letter,) = write(trace(tmp_path / "t.db", [*runs, first]), end(first, language))
    assert FEW[language] in re.sub(r"\s+", " " if language == "en" else "", letter.text), why
    again = replace(runs[-1], job_id_raw=90, submit_time=(runs[-1].submit_time or 0) + 1)
    (letter,) = write(trace(tmp_path / "again.db", [*runs, again]), end(again, language))
    assert FEW[language] not in re.sub(r"\s+", " " if language == "en" else "", letter.text), "the others are many"


def test_a_first_run_with_a_site_s_highest_risk_is_not_too_many(tmp_path: Path) -> None:
    first = replace(LAST, elapsed=72 * HOUR)
    with closing(sqlite3.connect(trace(tmp_path / "t.db", [first]))) as db:
        letter = Composer(db, Config(), Offer(risk=0.5), NOW, [end(first)], UTC).letter(end(first))
    assert FEW["en"] in " ".join(letter.text.split())


def test_a_limit_from_a_user_s_other_runs_says_so(tmp_path: Path) -> None:
    first = replace(LAST, job_name="first")
    for language, mine, alike in (
        ("en", "earlier runs of yours", "earlier runs like this"),
        ("ja", "ご自身の", "同様の"),
    ):
        letters = [
            *write(trace(tmp_path / f"{language}1.db", [*JOBS[:40], first]), end(first, language)),
            *write(trace(tmp_path / f"{language}2.db", [*JOBS[:40], LAST]), end(LAST, language)),
        ]
        texts = [re.sub(r"\s+", " " if language == "en" else "", letter.text) for letter in letters]
        assert [mine in text for text in texts] == [True, False]
        assert [alike in text for text in texts] == [False, True]
        assert all("#SBATCH --time=06:00:00" in letter.text for letter in letters)


def test_one_task_that_hung_does_not_make_an_array_one_that_needs_more(tmp_path: Path) -> None:
    hung = [
        replace(one, state="TIMEOUT", elapsed=24 * HOUR, end_time=(one.start_time or 0) + 24 * HOUR)
        if one.array_task == 3 else one
        for one in JOBS
    ]  # fmt: skip
    about = replace(DUES["array"](), until=MONDAY + 4 * DAY)
    for language, says in (
        ("en", "half of them took at most 1 h 21 min of 24 h"),
        ("ja", "半数は24時間のうち1時間21分以内"),
    ):
        (letter,) = write(trace(tmp_path / f"{language}.db", hung), replace(about, language=language))
        assert says in letter.subject
        assert "#SBATCH --time=06:00:00" in letter.text


def test_who_needs_more_is_not_told_to_lengthen_a_job_that_waits(tmp_path: Path) -> None:
    """Slurm refuses that to users: scontrol lengthens a limit for operators only."""
    last = replace(LAST, state="TIMEOUT", elapsed=2 * HOUR, time_limit=2 * HOUR)
    (letter,) = write(trace(tmp_path / "t.db", [*JOBS[:40], last]), end(last))
    assert "sbatch --time=06:00:00" in letter.text
    assert "scontrol" not in letter.text + letter.html


def test_nothing_is_recommended_that_the_queue_does_not_allow(tmp_path: Path) -> None:
    path = trace(tmp_path / "t.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE queue SET max_limit = 3600")
    (letter,) = write(path, end())
    assert "--time" not in letter.text and "more than the queue allows" in letter.text


@pytest.mark.parametrize(
    ("language", "says"), [("en", "differ so much in how long they take"), ("ja", "大きくばらつき")]
)
def test_a_limit_that_was_mostly_too_short_is_not_shown(tmp_path: Path, language: str, says: str) -> None:
    """Each run took much longer than the one before."""
    longer = [run(n, NEXT_MONDAY - (20 - n) * DAY, 61 * 3**n, job_name="grow") for n in range(8)]
    (letter,) = write(trace(tmp_path / "t.db", longer), end(longer[-1], language))
    assert says in letter.text.replace("\n", " " if language == "en" else "") and "--time" not in letter.text


def test_the_chart_shows_the_run_itself_whatever_its_user_did_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adminkit.feedback.letter_data.RUNS", 5)
    since = [run(500 + n, NEXT_MONDAY - HOUR + n, 600, job_name="other") for n in range(9)]
    (letter,) = write(trace(tmp_path / "t.db", [*JOBS[:40], LAST, *since]), end())
    assert letter.text.count(" h 17 min of 72 h") == 1, "once, and once in the subject, which is no part of the text"
    (whole,) = write(trace(tmp_path / "u.db", [*JOBS[:40], LAST]), end())
    assert whole.text.count(" of 72 h\n") == 5, "known or not, it is there once"


def test_a_run_that_the_trace_does_not_have_is_an_error(known: Path) -> None:
    with pytest.raises(AdminkitError, match="no finished run 999"):
        write(known, due("end", job_id_raw=999))


def test_a_week_without_runs_says_so(known: Path) -> None:
    for user, uid in (("nobody", 1099), ("ada", 1001)):
        one = due("digest", user=user, uid=uid, since=MONDAY - 52 * WEEK, until=MONDAY - 51 * WEEK)
        (letter,) = write(known, one)
        assert "no run of yours that could" in letter.text
        assert "no runs" in letter.subject


# What jobs are called


class _Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def tags(letter: Letter) -> list[tuple[str, tuple[str, ...]]]:
    page = _Tags()
    page.feed(letter.html)
    return page.tags


#: What breaks mail, pages, terminals and templates.
HOSTILE = (
    "<script>alert(1)</script>",
    "{{7*7}}{% for x in range(9) %}",
    "{{ cluster.__class__ }}",
    "train\r\nBcc: all@example.org\r\n\r\n<b>",
    "\u202egnp.exe",
    "\u2066a\u2069",
    "\x1b[31mred\x07\x00",
    "x" * 10_000,
    "é" * 10_000,
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE job; --",
    "\u2028line\u2029",
    "=?utf-8?q?Subject?=",
    "#SBATCH --time=1-00:00:00",
    "大規模学習",
    "\ufeff\u200b\u00ad",
    "%s %(x)s {0}",
    "",
    " ",
)


def check_hostile(path: Path, name: str) -> None:
    """Both letters of a run of that name are as safe as those of any other."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE job SET job_name = ?, queue = ? WHERE user = 'ada'", (name, name))
        db.execute("UPDATE outbox SET job_name = ?", (name,))
    for letter in write(path, end(), DUES["array"](), due("digest")):
        for part in (letter.subject, letter.text, letter.html):
            bad = [c for c in part if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]
            assert bad == []
            part.encode()
            assert len(part) < 20_000
        assert "\n" not in letter.subject and len(letter.subject) <= SUBJECT
        assert {tag for tag, _ in tags(letter)} <= {
            "html", "head", "meta", "title", "style", "body", "table", "tr", "td", "p", "pre", "b", "br"
        }  # fmt: skip
        assert not any(word.startswith("on") or word in ("src", "href") for _, words in tags(letter) for word in words)
        pasted = [line for line in letter.text.splitlines() if line.strip().startswith("#SBATCH")]
        assert all(re.fullmatch(r" +#SBATCH --time=[\d:-]+( +too short for .*)?", line) for line in pasted) or (
            "#SBATCH" in name
        )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    jobs = [*JOBS[20:41], *[one for one in JOBS if one.array_job]]
    return trace(tmp_path_factory.mktemp("hostile") / "t.db", jobs)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_harmless(hostile: Path, name: str) -> None:
    check_hostile(hostile, name)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(max_size=200).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)))
def test_any_name_is_harmless(hostile: Path, name: str) -> None:
    check_hostile(hostile, name)


def test_a_name_that_looks_like_a_template_is_shown_as_it_is(hostile: Path) -> None:
    check_hostile(hostile, "{{7*7}}")
    (letter,) = write(hostile, end())
    assert "{{7*7}}" in letter.subject and "{{7*7}}" in letter.html and "{{7*7}}" in letter.text


# A site's own templates


def with_site(path: Path) -> Config:
    return Config(feedback=Feedback(templates=path))


@pytest.mark.parametrize(
    ("name", "text", "message", "hint", "why"),
    [
        ("end.txt.j2", "Subject: hello\n\n{{ rnu.elapsed }}\n", r"end\.txt\.j2, line 3: .*'rnu'", "run", "a value"),
        ("end.txt.j2", "Subject: x\n{{ run.elapsd }}\n", r"end\.txt\.j2, line 2: .*elapsd", "elapsed", "a field"),
        ("end.txt.j2", "Subject: x\n{{ 1 | duratoin }}", r"end\.txt\.j2, line 2: .*duratoin", "duration", "a filter"),
        ("end.txt.j2", "Subject: x\n\n{% if %}", r"end\.txt\.j2, line 3: ", "docs/letters.md", "syntax"),
        ("end.txt.j2", "Dear {{ user }}", r"end\.txt\.j2, line 1: .*subject", "Subject:", "no subject"),
        ("end.txt.j2", "Subject: x\n{{ 1 / 0 }}", r"end\.txt\.j2, line 2: division", "docs/letters.md", "arithmetic"),
        ("end.html.j2", "<p>{{ run.limt }}</p>", r"end\.html\.j2, line 1: .*limt", "limit", "the HTML"),
        ("words.en.j2", "\n{% macro end_subject() %}{{ rnu }}{% endmacro %}", r"words\.en\.j2, line 2", "run", "all"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_template_is_told_with_its_place_and_the_nearest_word(
    known: Path, tmp_path: Path, name: str, text: str, message: str, hint: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(AdminkitError, match=message) as found:
        write(known, end(), settings=with_site(tmp_path))
    assert hint in found.value.hint, why


def test_a_broken_template_of_one_kind_leaves_the_others_alone(known: Path, tmp_path: Path) -> None:
    (tmp_path / "end.txt.j2").write_text("Subject: {{ nothing }}\n")
    with pytest.raises(AdminkitError):
        write(known, end(), settings=with_site(tmp_path))
    (letter,) = write(known, due("digest"), settings=with_site(tmp_path))
    assert letter.subject.startswith("Your week")


def test_a_site_replaces_one_template_and_keeps_the_rest(known: Path, tmp_path: Path) -> None:
    (tmp_path / "end.txt.j2").write_text("Subject: hello {{ user }}\n\nAsk for {{ advice.limit | duration }}.\n")
    (letter,) = write(known, end(), settings=with_site(tmp_path))
    assert (letter.subject, letter.text) == ("hello ada", "Ask for 6 h.\n")
    assert "#SBATCH --time=06:00:00" in letter.html


def test_a_site_replaces_the_words_of_one_language_and_keeps_those_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "words.ja.j2").write_text(
        "{% macro found_says(one) %}x{% endmacro %}{% macro found_advice(one) %}y{% endmacro %}"
    )
    one = {
        "kind": "habit",
        "queue": "gq",
        "evidence": {"share": 0.5, "max_limit": 3600, "used_fraction": 0.1},
        "advice": "",
    }
    said = [Templates(name, tmp_path).render("found.txt.j2", {"language": name, "found": one}) for name in ("ja", "en")]
    assert said[0].split() == ["x", "y"] and said[1].startswith("gq: 50\N{NO-BREAK SPACE}% of the jobs")


def test_the_page_lists_every_value_that_a_template_may_say() -> None:
    page = (GOLDEN.parent.parent / "docs" / "letters.md").read_text()
    rows = {line for line in page.splitlines() if re.match(r"\| (end|digest|operator|statement|all)", line)}
    for view in (
        template_values.Ran,
        template_values.Tasked,
        template_values.Recommended,
        template_values.Lost,
        template_values.LostWeekly,
        template_values.OtherGpus,
        template_values.MoreTime,
        template_values.MoreMemory,
        template_values.Broken,
        template_values.Weekly,
        template_values.Named,
        template_values.Found,
        template_values.Missed,
        template_values.Chart,
        Charged,
        Bar,
    ):
        names = {f.name for f in fields(view)}
        assert any(names <= set(re.findall(r"`(\w+)`", row)) for row in rows), view
    assert set(TEMPLATES) == {one.name for one in data_file("etc", "letters", TEMPLATES[0]).parent.iterdir()}
    assert all(f"`{name}`" in page for name in (*TEMPLATES, *(f"words.{one}.j2" for one in LANGUAGES)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_operators_are_told_what_their_queues_could_do_better(
    tmp_path: Path, golden: Callable[[str, str], None], language: str
) -> None:
    """Six users ask a queue of 72 hours for its maximum and run for minutes; its name is hostile."""
    name = "<b>gq</b> $(x)"
    jobs = [
        run(1000 + n, MONDAY + n * 60, HOUR, user=f"u{n % 6}", uid=2000 + n % 6, queue=name, gpus=4) for n in range(120)
    ]
    path = make_trace(tmp_path / "t.db", jobs, [("aaic", name, 0, HOUR, 72 * HOUR)])
    (letter,) = write(path, DUES["operator"](language))
    golden(f"letters/operator-found-{language}.txt", f"Subject: {letter.subject}\n\n{letter.text}")
    assert "<b>gq" not in letter.html and "&lt;b&gt;gq" in letter.html
    assert "PartitionName='<b>gq</b> $(x)'" in letter.text
    assert max(cell_len(line) for line in letter.text.splitlines()) <= 80


def test_many_letters_read_the_trace_once_for_many_people(tmp_path: Path) -> None:
    """Letters about different people from one Composer say what each says alone."""
    jobs = [run(1000 + n, MONDAY + n * 60, HOUR + n % 7 * 600, user=f"u{n % 7}", uid=2000 + n % 7) for n in range(210)]
    path = trace(tmp_path / "t.db", jobs)
    dues = [end(one) for one in jobs[-7:]] + [due("digest", user=f"u{n}", uid=2000 + n) for n in range(7)]
    together = write(path, *dues)
    assert together == [write(path, one)[0] for one in dues]
    assert len({letter.text for letter in together}) == 14
