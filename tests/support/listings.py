"""A report of each listing that shows all it can say; hostile text where a user or a file may have put some."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from adminkit.config import Config
from adminkit.deploy.bundle import Bundle
from adminkit.deploy.files import Put
from adminkit.deploy.hosts import Host
from adminkit.deploy.install import Change, Done, Target
from adminkit.deploy.planning import Reason
from adminkit.deploy.soft_guard import Round
from adminkit.deploy.soft_guard_plan import Act
from adminkit.deploy.status import Status, TableStatus
from adminkit.deploy.trial import Placed, Trial
from adminkit.deploy.trial_file import Guards
from adminkit.deploy.trial_round import Round as TrialRound
from adminkit.deploy.trial_seen import Part, Seen
from adminkit.deploy.trial_state import Machine, Whole
from adminkit.ingest.audited import Audited
from adminkit.policy.diff import Difference
from adminkit.policy.problem import Problem
from adminkit.recommend.menu import Offer
from adminkit.render.report import Meta, Report
from adminkit.reports import (
    audit,
    checks,
    deploy,
    findings,
    history,
    outbox,
    policy,
    recommend_queues,
    soft_limits,
    status,
)
from adminkit.reports.answer import answer
from adminkit.reports.simulate_scenarios import scenarios_report
from adminkit.reports.spec import ReportOptions
from adminkit.reports.trial import calendar_report, preview_notes, result_report
from adminkit.reports.trial_round import status_report as trial_round_report
from adminkit.simulate.answer import Answer
from adminkit.simulate.compare import LESS, MORE, NO_CHANGE, UNKNOWN, Row
from adminkit.stats.history import events
from adminkit.stats.select import span
from adminkit.stats.status import Pass
from adminkit.stats.switchback import calendar
from adminkit.stats.waits import waits
from adminkit.trace.actions import record_actions
from adminkit.trace.audit import Aside
from adminkit.trace.connect import reader
from adminkit.trace.load_log import record_load
from tests.support import (
    charge_listings,
    data_listings,
    elastic_listings,
    extend_listings,
    fit_listings,
    idle_listings,
    power_listings,
    simulations,
    size_listings,
    tune_listings,
)
from tests.support.builders import HOUR, MONDAY, job, letter, make_trace
from tests.support.reports import HOSTILE

DB: Final = "/var/lib/adminkit/trace.db"
DAY: Final = 24 * HOUR
UNTIL: Final = MONDAY + 7 * DAY


def doctor(_: Path) -> Report:
    return checks.checks_report(
        [
            ("config", "ok", "/etc/adminkit/adminkit.toml", ""),
            ("sacct", "missing", f"{HOSTILE} not on PATH", "install Slurm's client programs"),
            ("disk", "warn", "xfs, 900.0 MiB free at /var/lib/adminkit", "free some space"),
        ],
        DB,
    )


def trace_status(_: Path) -> Report:
    one = Pass(
        cluster="aaic", which="job", since=MONDAY, until=UNTIL, windows=9, provisional=1, rows=500, revoked=2,
        asked_at=UNTIL, gaps=1, gap_seconds=2 * HOUR, open_runs=7, overdue=1,
        to_come=UNTIL + DAY, ends_to_come=2,
    )  # fmt: skip
    rebuilt = {("aaic", "rebuilt"): ("12", MONDAY)}
    return status.status_report([one, replace(one, which="step")], [("old.txt", 3, MONDAY)], rebuilt, DB)


def rejected(_: Path) -> Report:
    rows = [("sacct aaic", 17, "column 4 (time): no time", HOSTILE.encode() + b"\xff", MONDAY)]
    return status.rejected_report(rows, DB)


def trace_history(path: Path) -> Report:
    trace = make_trace(path / "t.db", [])
    with closing(sqlite3.connect(trace)) as db, db:
        db.execute("DELETE FROM load")
        record_load(db, "sync", "sacct aaic", "aaic", MONDAY, 2.5, (10, 7, 2, 1, 0))
        record_load(db, "import", HOSTILE, None, MONDAY + DAY, 0.5, (3, 3, 0, 0, 0))
        act = {"at": MONDAY + 2 * DAY, "host": "head", "who": "root", "for": "alice", "what": "policy install"}
        record_actions(db, [{**act, "generation": "ccd7", "before": "b251", "hosts": {"head": "confirmed"}}])
    with reader(trace) as db:
        return history.history_report(events(db, 0, 3), None, 3, DB)


def trace_audit(_: Path) -> Report:
    one = Audited("aaic", before=4, due=1, purge_unsaid=2)
    one.count("confirmed", 90, MONDAY, UNTIL)
    one.count("unknown", 1, MONDAY, MONDAY)
    one.users["unknown"] = {"ada"}
    return audit.audit_report([one, Audited("gone", known=False)], False, DB)


def restore(_: Path) -> Report:
    rows = [
        Aside("aaic", 4711, MONDAY, "4711", "ada", "COMPLETED", MONDAY + HOUR, "unknown", UNTIL),
        Aside("aaic", 4712, MONDAY, "4712", HOSTILE, None, None, "contradicted", UNTIL),
    ]
    return audit.aside_report(rows, ["nothing was written; --apply puts back the runs that are named"], DB)


def run(number: int, ended: int, elapsed: int, limit: int | None = 40 * HOUR, **changes: Any) -> Any:
    start = ended - elapsed
    given = {"submit_time": start, "start_time": start, "end_time": ended, "elapsed": elapsed, "time_limit": limit}
    return job(number, **{**given, "uid": 1001, "source": "slurmdbd", "job_name": "train", **changes})


def some_findings(path: Path) -> Report:
    runs = [
        run(1, MONDAY + DAY, 2 * HOUR),
        run(2, MONDAY + 2 * DAY, 4 * HOUR, 4 * HOUR, state="TIMEOUT", user="bob", uid=1002, job_name="fit"),
        run(3, MONDAY + 3 * DAY, 3 * HOUR, 4 * HOUR, user="bob", uid=1002, job_name=HOSTILE),
        run(5, MONDAY + DAY, HOUR, None, limit_kind="unlimited", user="eve", uid=1003),
        *(run(n, MONDAY - n * HOUR, 2 * HOUR) for n in range(6, 10)),
    ]
    scope = findings.Scope(since=MONDAY, until=UNTIL, now=UNTIL, clusters=["aaic"], everybody=True)
    kinds = ("overestimate", "estimate", "week", "outbox")
    with reader(make_trace(path / "t.db", runs)) as db:
        return findings.findings_report(findings.gather(db, Config(), scope, kinds), "info", scope, kinds, DB, span(db))


LETTERS: Final = (
    letter(said="250 queued"),
    letter(1002, user=HOSTILE, state="refused", attempts=1, sent_at=None, said=f"550 {HOSTILE}"),
    letter(1003, user="eve", state="due", attempts=2, sent_at=None, next_at=MONDAY + HOUR, said="451 later"),
    letter(kind="operator", run="2026-W02", user=None, uid=None, address="ops@example.org"),
)
NO_LETTER: Final = {"used_fraction": 3, "user_pause": 1}


def feedback_preview(_: Path) -> Report:
    return outbox.due_report([(one, HOSTILE) for one in LETTERS], NO_LETTER, ["today is a quiet day"], DB)


def feedback_run(_: Path) -> Report:
    counts = {"sent": 3, "later": 1, "refused": 1}
    return outbox.run_report(counts, 4, NO_LETTER, ["aaic is switched on"], DB, ["aaic"])


def feedback_status(_: Path) -> Report:
    counts = [("aaic", "end", "sent", 12, MONDAY, UNTIL), ("aaic", "digest", "due", 1, UNTIL, UNTIL)]
    return outbox.status_report(counts, ["letters go to localhost:25"], DB)


def letters(_: Path) -> Report:
    return outbox.letters_report(LETTERS, [], DB)


def prefs(_: Path) -> Report:
    values = {"letters": "week", "language": "ja", "address": None, "hints": False, "plan": True, "chat": "rocket"}
    return outbox.prefs_report(values, ["you get no letters"], "/var/lib/adminkit/prefs/1001.toml")


def policy_check(_: Path) -> Report:
    problems = [
        Problem(("rules.gq-max.queue",), "no such queue: gp", "did you mean gq?"),
        Problem(("menu",), HOSTILE, "", note=True),
    ]
    return policy.check_report(problems, ["policy.toml: 1 to correct"])


def policy_diff(_: Path) -> Report:
    return policy.diff_report(DIFFERENCES, ["policy policy.toml"])


DIFFERENCES: Final = (
    Difference("rules.gq-max", "changed", "max_limit 05:00:00", "max_limit 06:00:00"),
    Difference("rules.new", "added", "", HOSTILE),
)
TARGET: Final = Target(Path("/etc/slurm"), "aaic", others=("backup",))
BUNDLE: Final = Bundle(
    {"policy": '["generation"] = "ccd7ccd7ccd7",\n', "hints": ""}, {}, notes=("made from the example",)
)
CHANGES: Final[Sequence[Change]] = (
    Change("adminkit/policy.lua", "changed", 4000),
    Change("adminkit/decide.lua", "same", 9000),
    Change("job_submit.lua", "the site's own", 300),
)


def install(_: Path) -> Report:
    there = {"policy": {"": "b251b251b251"}}
    return deploy.preview_report(CHANGES, BUNDLE, TARGET, installed=there, rules=DIFFERENCES, entry="foreign")


def installed(_: Path) -> Report:
    done = Done(
        [Put("policy", "ccd7ccd7ccd7", "b251b251b251", True)], ["adminkit/decide.lua"], "foreign", True,
        hosts=[Host("backup", False, problem=HOSTILE)], steps=["scp …"],
    )  # fmt: skip
    return deploy.done_report(done, TARGET, BUNDLE.notes, "head")


def refresh(_: Path) -> Report:
    rows = [(2001, "grace", "no longer exempt"), (2002, None, "exempt from now on")]
    return deploy.refresh_report(rows, "aaic", ["nothing was written; add --apply to write it"])


def policy_status(_: Path) -> Report:
    tables = [
        TableStatus("policy", "ccd7", "ccd7", "b251", "b251", MONDAY, "not in use"),
        TableStatus("hints", None, None, None, None, None, "absent"),
    ]
    return deploy.status_report(
        Status(
            Path("/etc/slurm"), "ours", tables, ["adminkit/decide.lua"], ["adminkit/policy.lua"],
            ["adminkit/hints.lua"], [Host("backup", False, ())], "slurmctld runs without adminkit's script",
        ),
        "aaic",
    )  # fmt: skip


def simulated(_: Path) -> Report:
    waits = Row(
        "short gq", "all", "(all)", "mean_wait", "seconds", 55_127, 245.4, 131.2, -114.2, -120.9, -107.5, 0.0, LESS
    )
    rows = [
        waits,
        replace(waits, measure="mean_slowdown", unit="ratio", today=1.35, then=1.1, change=-0.25, low=-0.3, high=-0.2),
        replace(waits, measure="utilization", unit="share", today=0.349, then=0.351, change=0.002, low=0.001,
                high=0.003, verdict=MORE),
        replace(waits, measure="killed", unit="count", today=1541.0, then=2245.3, change=704.3, low=690.0,
                high=718.6, verdict=MORE),
        replace(waits, part="length", value="above 24 h", jobs=3258, today=300.0, then=900.0, change=600.0, low=500.0,
                high=700.0, verdict=MORE),
        replace(waits, part="account", value=HOSTILE, jobs=9, change=-3.0, low=-9.0, high=3.0, verdict=NO_CHANGE),
        replace(waits, scenario="nothing", change=0.0, low=0.0, high=0.0, then=245.4, verdict=NO_CHANGE),
        replace(waits, scenario="no job", today=None, then=None, change=None, low=None, high=None, verdict=UNKNOWN),
    ]  # fmt: skip
    meta = Meta.plain("What would happen", ["changes are means of 20 paired replicates"], ["aaic"])
    meta = replace(meta, answers=("calibration: trust: the error of the mean wait is +1.0% (-2.0% to +4.0%)",))
    nothing = {"waits": [[0], [0]], "busy": [[], []], "left": 0, "added": 0, "lost": [0, []]}
    some = {**nothing, "left": 2, "added": 1, "lost": [7, [11, 12, 13, 14, 15]]}
    summaries = {"short gq": [some], "nothing": [nothing], "no job": [nothing]}
    return scenarios_report(Answer(rows, summaries, (0, DAY)), meta)


def _round() -> Round:
    raised = Act("raised", 4711, "4711", "lowered at its start", 600, 10 * HOUR)
    cleared = Act("cleared", 4712, "4710_[2-5]", "reservation in gq", 600, None)
    return Round(MONDAY, True, (), MONDAY + 90, 7, (raised, cleared), (cleared,), ["couldn't run scontrol: no"])


def guarded(_: Path) -> Report:
    return soft_limits.round_report(_round(), "aaic", True)


def soft_status(_: Path) -> Report:
    acts = [
        {"at": MONDAY + 9, "did": "raised", "job": 4711, "why": "lowered at its start", "was": 600, "becomes": 36000},
        {"at": MONDAY, "did": "lease given", "why": HOSTILE},
    ]
    reason = Reason("parameter", "the running slurmctld does not name time_min_as_soft_limit", "")
    return soft_limits.status_report(Round(MONDAY, True, (reason,), None, 7), acts, "aaic")


def _trial(hoped: float | None = None) -> Trial:
    days = calendar(range(MONDAY, MONDAY + 29 * DAY, DAY), 7)
    placed = [Placed(day.since + 60, "b" if day.on else "a") for day in days]
    lines = ["PriorityWeightAge 10000 instead of 1000", HOSTILE]
    return Trial("aaic", MONDAY - HOUR, 7, 6 * HOUR, days, hoped, ("A", "B"), lines, placed=placed)


def trial_plan(_: Path) -> Report:
    past = [600.0 + 120 * (day % 7) + 90 * (day * 5 % 11) for day in range(140)]
    return calendar_report(_trial(-0.2), preview_notes(_trial(-0.2), False, past, 70 * HOUR, ["backup", HOSTILE]), UTC)


def trial_status(_: Path) -> Report:
    parts = [Part("policy", "", "b", ""), Part("parameter", "PriorityWeightAge", "other", HOSTILE)]
    machine = Machine({}, Guards(), "b", MONDAY + HOUR, lease_until=MONDAY + 2 * HOUR)
    seen = Seen(tuple(parts), None, "")
    return trial_round_report(TrialRound(MONDAY + HOUR, Whole(_trial(), machine), ["switched"], [], [], seen), "aaic")


def trial_result(path: Path) -> Report:
    """Of four weeks, of which a job of the last still waits; single GPUs wait two thirds as long on B's days."""
    made, jobs = _trial(), []
    for nth, day in enumerate(made.days):
        wait = (600 + 120 * (nth % 7) + 90 * (nth * 5 % 11)) * (2 if day.on else 3)
        at = day.since + 12 * HOUR
        for times, gpus in ((1, 1), (2, 16)):
            start = None if nth == 27 and times == 2 else at + (wait if gpus == 1 else 2 * 700 * (3 + nth % 3))
            ended = {"start_time": start, "end_time": None if start is None else start + HOUR, "elapsed": HOUR}
            soft = {"admin_comment": "ak1:lim=14400,src=e,soft=600"} if day.on else {}
            jobs.append(job(10 * nth + times, eligible_time=at, gpus=gpus, nodes=times, **ended, **soft))
        jobs.append(job(10 * nth + 3, eligible_time=at, start_time=None, end_time=at + 1, state="CANCELLED"))
    with reader(make_trace(path / "trial.db", jobs)) as db:
        return result_report(made, waits(db, "aaic", made.begins, made.ends, made.ends), DB, made.ends)


#: Listing.name -> its report; of one that is reviewed elsewhere its golden file, without the ending. None: its values
#: are compared with the trace in tests/recommend.
def _queues(path: Path, by: str) -> Report:
    """Every fifth run of gq is longer than three hours, and can go on; two queues are of users who are too few."""
    jobs = [
        job(
            100 * user + n,
            user=f"u{user}",
            elapsed=HOUR if n % 5 else 5 * HOUR,
            time_limit=48 * HOUR,
            job_name="train",
        )
        for user in range(9)
        for n in range(20)
    ]
    jobs.append(job(9000, user="u1", job_name="train", state="CANCELLED", ckpt_heard=1, ckpt_requeues=0))
    jobs += [
        job(number, queue=queue, elapsed=HOUR) for number, queue in ((9101, "short"), (9102, HOSTILE), (9103, HOSTILE))
    ]
    known = [("aaic", queue, 0, 24 * HOUR, most * HOUR) for queue, most in (("gq", 48), ("short", 3), (HOSTILE, 4))]
    options = ReportOptions(by=by, own={"offer": Offer(risk=0.25)})
    return answer(recommend_queues.SPEC, options, make_trace(path / "t.db", jobs, known), Config(), UNTIL)


def advised_queues(path: Path) -> Report:
    return _replaced(_queues(path, "queue"))


def moves(path: Path) -> Report:
    return _replaced(_queues(path, "move"))


def _replaced(report: Report) -> Report:
    return replace(report, meta=replace(report.meta, database=DB))


LISTED: Final[dict[str, Callable[[Path], Report] | str | None]] = {
    "doctor": doctor,
    "trace-status": trace_status,
    "trace-rejected": rejected,
    "trace-history": trace_history,
    "trace-audit": trace_audit,
    "trace-restore": restore,
    "findings": some_findings,
    "fit": fit_listings.fit,
    "profiles-check": fit_listings.profiles_check,
    "profiles-list": fit_listings.profiles_list,
    "recommend-walltime": None,
    "recommend-walltime-backtest": "recommend-backtest",
    "recommend-queues": advised_queues,
    "recommend-queues-by-move": moves,
    "recommend-gpus": power_listings.advised,
    "recommend-memory": size_listings.advised_memory,
    "recommend-memory-backtest": size_listings.tested_memory,
    "recommend-cpus": size_listings.advised_cpus,
    "recommend-cpus-backtest": size_listings.tested_cpus,
    "data-probe": data_listings.probed,
    "data-probe-kept": data_listings.kept,
    "data-ls": data_listings.shards,
    "data-ls-by-class": data_listings.classes,
    "data-ls-by-file": data_listings.files,
    "data-verify": data_listings.faults,
    "data-cache": data_listings.cache,
    "power-import": power_listings.imported,
    "power-show": power_listings.shown,
    "charge-preview": charge_listings.preview,
    "charge-preview-not-chargeable": charge_listings.not_chargeable,
    "charge-statement": charge_listings.statement,
    "charge-statement-entries": charge_listings.entries,
    "charge-verify": charge_listings.verify,
    "charge-compare": charge_listings.compared,
    "charge-budget": charge_listings.budgets,
    "charge-budget-enforce": charge_listings.enforced,
    "charge-export-focus": charge_listings.focus,
    "feedback-preview": feedback_preview,
    "feedback-run-send": feedback_run,
    "feedback-status": feedback_status,
    "feedback-status-letters": letters,
    "feedback-prefs": prefs,
    "incentives-show": "incentives",
    "incentives-show-user": "incentives-ada",
    "policy-check": policy_check,
    "policy-explain": "policy-explain-shipped",
    "policy-try": "policy-try-warned",
    "policy-replay": "policy-replay",
    "policy-diff": policy_diff,
    "policy-install": install,
    "policy-install-apply": installed,
    "policy-refresh": refresh,
    "policy-status": policy_status,
    "simulate-run": simulations.run,
    "simulate-replay": simulations.replay,
    "simulate-scenarios": simulated,
    "simulate-elastic": simulations.elastic,
    "elastic-preview": elastic_listings.previewed,
    "elastic-run": elastic_listings.done,
    "elastic-revoke": elastic_listings.revoked,
    "extend-preview": extend_listings.previewed,
    "extend-run": extend_listings.done,
    "extend-status": extend_listings.status,
    "idle": idle_listings.shown,
    "idle-apply": idle_listings.done,
    "idle-replay": idle_listings.replayed,
    "idle-status": idle_listings.status,
    "soft-limits-guard": guarded,
    "soft-limits-status": soft_status,
    "tune": tune_listings.recommended,
    "trial-start": trial_plan,
    "trial-status": trial_status,
    "trial-result": trial_result,
}
