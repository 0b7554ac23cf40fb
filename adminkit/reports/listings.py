"""Every listing that is not a report of catalogue.py: the command that prints it, and its columns.

Their rows come from files, hosts, slurmdbd or the outbox as well as from the trace, so each command makes its own;
docs/reports.md and the golden tests go through this table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adminkit.render.report import Field
from adminkit.reports import (
    audit,
    calibration,
    charge,
    charge_budget,
    charge_compare,
    charge_enforce,
    charge_focus,
    checks,
    data,
    data_cache,
    data_probe,
    deploy,
    elastic,
    elastic_jobs,
    extend_round,
    findings,
    fit,
    history,
    idle,
    idle_replay,
    incentives,
    outbox,
    policy,
    power,
    profiles,
    recommend,
    recommend_cpus,
    recommend_gpus,
    recommend_memory,
    recommend_queues,
    simulate,
    simulate_scenarios,
    soft_limits,
    status,
    trial,
    trial_round,
    tune,
)


@dataclass(frozen=True, slots=True)
class Listing:
    """`command` without `adminkit`; `when` says which of its listings, where it has several."""

    command: str
    fields: Sequence[Field]
    when: str = ""

    @property
    def name(self) -> str:
        """The command in one word: feedback-status-letters."""
        return "-".join(f"{self.command} {self.when}".lower().replace("-", " ").split())


LISTINGS: Final = (
    Listing("doctor", checks.CHECK_FIELDS),
    Listing("trace status", status.STATUS_FIELDS),
    Listing("trace rejected", status.REJECTED_FIELDS),
    Listing("trace history", history.HISTORY_FIELDS),
    Listing("trace audit", audit.FIELDS),
    Listing("trace restore", audit.ASIDE_FIELDS),
    Listing("findings", findings.FIELDS),
    Listing("fit", fit.FIELDS),
    Listing("profiles check", profiles.CHECK_FIELDS),
    Listing("profiles list", profiles.LIST_FIELDS),
    Listing("recommend walltime", recommend.FIELDS),
    Listing("recommend walltime", recommend.BACKTEST_FIELDS, "--backtest"),
    Listing("recommend queues", recommend_queues.FIELDS),
    Listing("recommend queues", recommend_queues.MOVE_FIELDS, "--by move"),
    Listing("recommend gpus", recommend_gpus.FIELDS),
    Listing("recommend memory", recommend_memory.FIELDS),
    Listing("recommend memory", recommend_memory.BACKTEST_FIELDS, "--backtest"),
    Listing("recommend cpus", recommend_cpus.FIELDS),
    Listing("recommend cpus", recommend_cpus.BACKTEST_FIELDS, "--backtest"),
    Listing("data probe", data_probe.FIELDS),
    Listing("data probe", data_probe.KEPT_FIELDS, "--kept"),
    Listing("data ls", data.SHARD_FIELDS),
    Listing("data ls", data.CLASS_FIELDS, "--by class"),
    Listing("data ls", data.FILE_FIELDS, "--by file"),
    Listing("data verify", data.FAULT_FIELDS),
    Listing("data cache", data_cache.FIELDS),
    Listing("power import", power.IMPORT_FIELDS),
    Listing("power show", power.FIELDS),
    Listing("charge preview", charge.FIELDS),
    Listing("charge preview", charge.REFUSED_FIELDS, "--not-chargeable"),
    Listing("charge statement", charge.FIELDS),
    Listing("charge statement", charge.ENTRY_FIELDS, "--entries"),
    Listing("charge verify", charge.VERIFY_FIELDS),
    Listing("charge compare", charge_compare.FIELDS),
    Listing("charge budget", charge_budget.FIELDS),
    Listing("charge budget", charge_enforce.FIELDS, "--enforce"),
    Listing("charge export", charge_focus.FIELDS, "--focus"),
    Listing("feedback preview", outbox.DUE_FIELDS),
    Listing("feedback run", outbox.RUN_FIELDS, "--send"),
    Listing("feedback status", outbox.STATUS_FIELDS),
    Listing("feedback status", outbox.LETTER_FIELDS, "--letters"),
    Listing("feedback prefs", outbox.PREFS_FIELDS),
    Listing("incentives show", incentives.EVERYBODY),
    Listing("incentives show", incentives.ONE, "USER"),
    Listing("policy check", policy.CHECK_FIELDS),
    Listing("policy explain", policy.EXPLAIN_FIELDS),
    Listing("policy try", policy.TRY_FIELDS),
    Listing("policy replay", policy.REPLAY_FIELDS),
    Listing("policy diff", policy.DIFF_FIELDS),
    Listing("policy install", deploy.PREVIEW_FIELDS),
    Listing("policy install", deploy.DONE_FIELDS, "--apply"),
    Listing("policy refresh", deploy.REFRESH_FIELDS),
    Listing("policy status", deploy.STATUS_FIELDS),
    Listing("simulate run", simulate.FIELDS),
    Listing("simulate replay", calibration.FIELDS),
    Listing("simulate scenarios", simulate_scenarios.FIELDS),
    Listing("simulate elastic", elastic.FIELDS),
    Listing("elastic preview", elastic_jobs.PREVIEW_FIELDS),
    Listing("elastic run", elastic_jobs.RUN_FIELDS),
    Listing("elastic revoke", elastic_jobs.RUN_FIELDS),
    Listing("extend preview", extend_round.ROUND_FIELDS),
    Listing("extend run", extend_round.ROUND_FIELDS),
    Listing("extend status", extend_round.STATUS_FIELDS),
    Listing("idle", idle.FIELDS),
    Listing("idle", idle.ROUND_FIELDS, "--apply"),
    Listing("idle", idle_replay.FIELDS, "--replay"),
    Listing("idle", idle.STATUS_FIELDS, "--status"),
    Listing("soft-limits guard", soft_limits.ROUND_FIELDS),
    Listing("soft-limits status", soft_limits.STATUS_FIELDS),
    Listing("tune", tune.FIELDS),
    Listing("trial start", trial.CALENDAR_FIELDS),
    Listing("trial status", trial_round.STATUS_FIELDS),
    Listing("trial result", trial.RESULT_FIELDS),
)

#: Commands whose listing has the columns that the caller names.
NAMED_BY_CALLERS: Final = ("sql",)
#: Commands whose listing has the columns of another's.
SAME: Final = {
    "charge close": "charge preview",
    "feedback resend": "feedback status --letters",
    "incentives compute": "incentives show",
    "incentives install": "policy install",
    "report trial": "trial result",
    "trial plan": "trial start",
    "trial restore": "trial status",
    "trial run": "trial status",
    "trial stop": "trial status",
    "policy rollback": "policy install --apply",
}
