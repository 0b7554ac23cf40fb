"""Whatever names a limit to somebody names the same one: the least of the policy's menu that is safe by its risk.

What prints limits is a line of PRINTERS. Histories are drawn, each of one kind of job, so that every level of likeness
has the same runs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest

from adminkit.cli.main import main
from adminkit.config import Config
from adminkit.economy.build import Worth, compute, learnt, read_tables, tables, write_tables
from adminkit.economy.tables import points
from adminkit.feedback.compose import Composer
from adminkit.feedback.letter import DigestLetter, Due, JobLetter
from adminkit.installed import data_file
from adminkit.job import Job
from adminkit.lua.runtime import Decider
from adminkit.policy.compile import policy_table, policy_text
from adminkit.policy.load import load_offer, load_policy
from adminkit.recommend.advice import walltime
from adminkit.recommend.control import Control, control
from adminkit.recommend.menu import Offer, round_up
from adminkit.recommend.predict import Predictor, Rule
from adminkit.reports.my import Asked, measure, sections
from adminkit.reports.recommend import History, advice_report
from adminkit.slurm.site import made_up
from adminkit.stats.own import Owner
from adminkit.stats.runs import Kind, Run, latest, runs
from adminkit.trace.connect import reader
from tests.support.builders import HOUR, MONDAY, job, make_trace

DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
NOW: Final = MONDAY + WEEK + 8 * HOUR
ASKED: Final = 30 * DAY
#: Of so many histories commands, each of which reads the trace anew, are tried on one, and `my` on two.
SOME: Final = 20
FIRST_UID: Final = 2001

POLICIES: Final = {
    "the defaults": "version = 1\n",
    "a fine menu, a high risk": f"version = 1\nrisk = 0.2\nmenu = {[f'{n * 20}m' for n in range(1, 145)]}\n",
    "an odd menu, a low risk": 'version = 1\nrisk = 0.07\nmenu = ["50h", "17m", "90m", "13h"]\n',
}


def history(number: int) -> list[Job]:
    """The runs of one user, every third day; the last of them in the week of the digest."""
    luck = random.Random(number)
    typical, spread = 60.0 * 1500.0 ** luck.random(), luck.choice([0.0, 0.1, 0.4])
    count = luck.randint(20, 28)
    made = []
    for nth in range(count):
        last = nth == count - 1
        elapsed = max(70, min(round(typical * luck.lognormvariate(0, spread)), 60 * HOUR))
        end = MONDAY + WEEK - HOUR - (count - nth - 1) * 3 * DAY
        state = "COMPLETED" if last or luck.random() < 0.95 else luck.choice(["FAILED", "CANCELLED"])
        begin = {"submit_time": end - elapsed - 60, "eligible_time": end - elapsed - 60, "start_time": end - elapsed}
        who = {"user": f"user{number}", "uid": FIRST_UID + number, "job_name": "train"}
        made.append(
            job(100 * number + nth, elapsed=elapsed, end_time=end, state=state, time_limit=ASKED, **begin, **who)
        )
    return made


@dataclass(frozen=True, slots=True)
class Site:
    """A trace, a policy.toml, and a folder for what is made of them."""

    trace: Path
    policy: Path
    folder: Path
    runs: dict[str, list[Run]]
    control: Control

    @property
    def histories(self) -> range:
        return range(len(self.runs))

    def safe(self, number: int) -> int | None:
        """The limit, from the predictor and the control alone."""
        given = load_policy(self.policy)
        predictor = Predictor(Rule(risk=given.risk))
        mine = self.runs[f"user{number}"]
        for run in sorted(mine, key=lambda run: run.end_time):
            predictor.ended(run)
        found = predictor.predict(mine[-1].kind, self.risk(number)).safe
        return None if found is None else round_up(found, given.menu)

    def risk(self, number: int) -> float:
        return self.control.risk("aaic", f"user{number}")

    def letters(self, kind: str) -> Iterator[tuple[int, str]]:
        """As `adminkit feedback` writes them."""
        dues = [_due(number, kind) for number in self.histories]
        with reader(self.trace) as db:
            composer = Composer(db, Config(), load_offer(self.policy), NOW, dues, UTC)
            for number, due in enumerate(dues):
                yield number, composer.letter(due).text

    def hints(self) -> Path:
        """Where the tables are that `incentives compute --out` writes."""
        policy = load_policy(self.policy)
        with reader(self.trace) as db:
            found = compute(db, policy, "aaic", NOW, Worth(points(policy.incentives, 60.0), None), checkpoint_code=85)
            write_tables(self.folder, tables(found, learnt(db, policy, found, NOW, checkpoint_code=85), policy, NOW))
        return self.folder


def _due(number: int, kind: str) -> Due:
    last = history(number)[-1]
    who: dict[str, Any] = {
        "cluster": "aaic", "user": last.user, "uid": last.uid, "language": "en", "address": "ada@example.org",
    }  # fmt: skip
    if kind == "digest":
        return DigestLetter(since=MONDAY, until=MONDAY + WEEK, week="2026-W02", **who)
    return JobLetter(
        job_id_raw=last.job_id_raw, submit_time=last.submit_time, until=last.end_time or 0, is_array=False,
        job_name=last.job_name, **who,
    )  # fmt: skip


def letter(site: Site) -> Iterator[tuple[int, str]]:
    return site.letters("end")


def digest(site: Site) -> Iterator[tuple[int, str]]:
    return site.letters("digest")


def hint(site: Site) -> Iterator[tuple[int, str]]:
    policy = policy_text(policy_table(load_policy(site.policy), made_up(["gq"]), NOW)).encode()
    installed = {table.name: table.text.encode() for table in read_tables(site.hints())}
    decider = Decider(policy, None, installed["hints"])
    asked = {"now": NOW, "queues": ["gq"], "job_name": "train", "limit": ASKED, "limit_kind": "finite", "batch": True}
    for number in site.histories:
        decision = decider.decide({**asked, "uid": FIRST_UID + number, "nodes": 1, "cpus": 8, "gpus": 1})
        yield number, " ".join(decision.messages)


def recommended(site: Site) -> Iterator[tuple[int, str]]:
    offer = load_offer(site.policy)
    for number in site.histories:
        kind = Kind("aaic", f"user{number}", "train", "gq", 1, 8, 1, ASKED)
        advice = walltime(site.runs[f"user{number}"], kind, offer, risk=site.risk(number))
        history = History(kind, Rule(risk=offer.risk), "t.db", ["aaic"], {})
        yield number, " ".join(advice_report(advice, history).meta.notes)


def recommend(site: Site) -> Iterator[tuple[int, str]]:
    like = ["-J", "train", "-p", "gq", "-N", "1", "--cpus", "8", "-G", "1", "-t", "30-00:00:00"]
    for number in site.histories[::SOME]:
        yield (
            number,
            _said("recommend", "walltime", "--db", site.trace, "--policy", site.policy, "-u", f"user{number}", *like),
        )


def my(site: Site) -> Iterator[tuple[int, str]]:
    offer = load_offer(site.policy)
    with reader(site.trace) as db:
        for number in site.histories[:: SOME // 2]:
            owner = Owner("aaic", FIRST_UID + number, f"user{number}")
            asked = Asked(owner, 90, 1, NOW, 85, "t.db")
            limits = sections(asked, measure(db, asked, offer, []), [], offer)["limits"]
            yield number, " ".join(str(row[-1]) for row in limits.rows)


def policy_try(site: Site) -> Iterator[tuple[int, str]]:
    uids = "".join(f"user{number} = {FIRST_UID + number}\n" for number in site.histories[::SOME])
    described = site.folder / "site.toml"
    described.write_text(f'cluster = "aaic"\n[[queues]]\nname = "gq"\nis_default = true\n[uids]\n{uids}')
    files = ["--policy", site.policy, "--site", described, "--tables", site.hints()]
    for number in site.histories[::SOME]:
        yield number, _said("policy", "try", *files, "-u", f"user{number}", "-J", "train", "-p", "gq", "-t", "30-0")


def _said(*words: object) -> str:
    with redirect_stdout(StringIO()) as out:
        assert main([str(word) for word in words]) == 0
    return out.getvalue()


#: What prints limits, and of how many of those for whom there is one it names it, at least. The others have a reason.
PRINTERS: Final[Sequence[tuple[str, Callable[[Site], Iterator[tuple[int, str]]], float]]] = (
    ("the letter about a job", letter, 0.8),
    ("the digest", digest, 0.8),
    ("the hint at submission", hint, 0.5),
    ("recommend walltime", recommended, 1.0),
    ("recommend walltime, as typed", recommend, 1.0),
    ("my", my, 1.0),
    ("policy try", policy_try, 0.5),
)


@pytest.fixture(scope="module", params=[40, pytest.param(1000, marks=pytest.mark.soak)])
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("limits") / "t.db"
    return make_trace(path, (run for number in range(request.param) for run in history(number)))


@pytest.fixture(scope="module", params=POLICIES)
def site(request: pytest.FixtureRequest, trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("policy")
    (folder / "policy.toml").write_text(POLICIES[request.param])
    mine: dict[str, list[Run]] = {}
    with reader(trace) as db:
        for run in runs(db, acting=True, checkpoint_code=85):
            mine.setdefault(run.kind.user or "", []).append(run)
        rule = Rule(risk=load_policy(folder / "policy.toml").risk)
        steered = control([latest(db, "aaic", acting=True, checkpoint_code=85)], rule)
    return Site(trace, folder / "policy.toml", folder, mine, steered)


def in_seconds(text: str) -> int:
    days, _, clock = text.rpartition("-")
    hours, minutes, seconds = map(int, clock.split(":"))
    return int(days or 0) * DAY + hours * HOUR + minutes * 60 + seconds


@pytest.mark.parametrize(("name", "printer", "often"), PRINTERS, ids=[name for name, _, _ in PRINTERS])
def test_it_names_the_limit_that_is_safe(
    site: Site, name: str, printer: Callable[[Site], Iterator[tuple[int, str]]], often: float
) -> None:
    wrong, named, due = [], 0, 0
    for number, text in printer(site):
        safe = site.safe(number)
        found = {in_seconds(limit) for limit in re.findall(r"--time=([0-9:-]+)", text)}
        due += safe is not None
        named += bool(found)
        if found - {safe}:
            wrong.append((number, found, safe))
    assert wrong == []
    assert due and named >= often * due, f"{name} named {named} of {due}"


def test_the_example_offers_what_is_offered_without_a_policy(tmp_path: Path) -> None:
    assert load_policy(data_file("etc", "policy.toml")).offer == Offer() == load_offer(None, tmp_path / "none")
    (tmp_path / "bare.toml").write_text("version = 1\n")
    assert load_offer(tmp_path / "bare.toml") == Offer()
