"""What an answer is worth: the verdict by its rule, what is not modelled, and whom calibration trusts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adminkit.errors import AdminkitError
from adminkit.simulate.calibrate import Calibration, calibrate, compare, refuse_without_basis
from adminkit.simulate.core import Schedule
from adminkit.simulate.subject import Wanted, subject_of
from adminkit.slurm.site import Association, Site, SiteQos, SiteScheduler
from tests.simulate.generated import Generated, Place, generated, happened, truth
from tests.simulate.signs import signs

RECORDED = generated(1, [], 300)


def with_reasons(one: Generated, share: float, reason: str) -> Generated:
    """The same trace; Slurm kept a reason for a share of the jobs."""
    many = int(share * len(one.runs))
    codes = (np.arange(len(one.runs)) < many).astype(np.int32)
    runs = replace(
        one.runs,
        codes={**one.runs.codes, "reason": codes},
        names={**one.runs.names, "reason": ("None", reason)},
    )
    return replace(one, runs=runs)


def judged(one: Generated, move: Any = 0, site: Site | None = None) -> Calibration:
    """The comparison with a schedule that is the truth, each start moved."""
    subject = one.subject(replace(one.known, site=site or one.known.site))
    start = subject.jobs.real["start"] + move
    made = Schedule(start, start + subject.jobs.columns["run"], start, start, {})
    return compare(subject, made)


def shares(found: Calibration) -> dict[str, float]:
    return {cause.what: cause.jobs for cause in found.causes}


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(0, "trust"), (0.10, "trust"), (-0.10, "trust"), (0.3, "direction only"), (-0.3, "direction only"),
     (0.6, "no basis"), (3.0, "no basis"), (-1.0, "no basis")],
)  # fmt: skip
def test_the_error_of_the_mean_wait_decides(factor: float, verdict: str) -> None:
    """Every job waits a share of its own wait longer, so that the interval is narrow and the order stays."""
    wait = RECORDED.runs.numbers["start"] - RECORDED.runs.numbers["submit"]
    found = judged(RECORDED, (wait * factor).astype(np.int64))
    whole = found.parts[0]
    assert whole.error == pytest.approx(factor, abs=0.01)
    assert found.verdict == verdict
    assert found.sentence.startswith(f"calibration: {verdict}: the error of the mean wait is ")


def cancelling(factor: float, queues: tuple[int, int]) -> Any:
    """The first queue's jobs wait `factor` of their own waits less, and the second's, together, as much more."""
    codes, wait = RECORDED.runs.codes["queue"], RECORDED.runs.numbers["start"] - RECORDED.runs.numbers["submit"]
    less, more = ((codes == code) * wait for code in queues)
    return (more * (factor * less.sum() / more.sum()) - less * factor).astype(np.int64)


@pytest.mark.parametrize(
    ("move", "verdict", "says", "why"),
    [
        (cancelling(0.9, (0, 2)), "no basis", "there is no basis in 2 of 3 queues: short (-90%), long (+", "in most"),
        (
            cancelling(0.9, (2, 1)),
            "direction only",
            "there is no basis in 1 of 3 queues: long (-90%); ",
            "in a small one",
        ),
        (cancelling(0.3, (0, 2)), "direction only", "the error of the mean wait is ", "beyond what is trusted in each"),
        (cancelling(0.0, (0, 2)), "trust", "the error of the mean wait is ", "the truth"),
    ],
)
def test_errors_of_queues_that_cancel_in_the_whole_count(move: Any, verdict: str, says: str, why: str) -> None:
    found = judged(RECORDED, move)
    assert abs(found.parts[0].error or 0) < 0.02
    assert (found.verdict, found.why[: len(says)]) == (verdict, says), why


def test_another_order_of_starts_is_no_trust() -> None:
    """Waits go to other jobs of the same queue: their mean stays."""
    one = RECORDED
    numbers = dict(one.runs.numbers)
    wait = numbers["start"] - numbers["submit"]
    slow = {**numbers, "start": numbers["submit"] + wait * 500}
    reversed_waits = (wait * 500)[::-1]
    subject = replace(one, runs=replace(one.runs, numbers=slow)).subject(one.known)
    start = subject.jobs.real["submit"] + reversed_waits
    found = compare(subject, Schedule(start, start + 1, start, start, {}))
    assert min(part.tau or 0 for part in found.parts if part.part == "queue") < 0.9
    assert found.verdict != "trust"


@pytest.mark.parametrize(
    ("share", "reason", "verdict", "why"),
    [
        (0.5, "AssocGrpCpuLimit", "no basis", "association limits are not modelled"),
        (0.05, "Reservation", "trust", "few"),
        (0.9, "Priority", "trust", "the model has it"),
        (0.9, "Dependency", "trust", "jobs arrive when they became eligible"),
        (0.9, "QOSMaxCpuPerUserLimit", "no basis", "the site has no such limit"),
    ],
)
def test_reasons_that_are_not_modelled_leave_no_basis(share: float, reason: str, verdict: str, why: str) -> None:
    found = judged(with_reasons(RECORDED, share, reason))
    assert found.verdict == verdict, why


def test_a_limit_of_a_qos_is_modelled_where_the_site_has_it() -> None:
    site = replace(RECORDED.known.site, qos=(SiteQos("normal", max_user_tres={"cpu": 64}),))
    found = judged(with_reasons(RECORDED, 0.9, "QOSMaxCpuPerUserLimit"), site=site)
    assert found.verdict == "trust"
    assert shares(found) == {}


def test_what_is_not_modelled_is_named_with_its_share() -> None:
    runs = RECORDED.runs
    half = np.arange(len(runs)) % 2
    numbers = {**runs.numbers, "het": half * 2 - 1, "suspended": (half == 0).astype(np.int64)}
    one = with_reasons(replace(RECORDED, runs=replace(runs, numbers=numbers)), 0.25, "JobArrayTaskLimit")
    scheduler = replace(
        one.known.site.scheduler, priority_weight_fairshare=100, preemption=True, other=frozenset({"bf_busy_nodes"})
    )
    site = replace(one.known.site, scheduler=scheduler, associations=(Association("physics", max_limit=60),))
    found = shares(judged(one, site=site))
    assert found == pytest.approx(
        {
            "arrays' %N": 0.25,
            "het jobs (their parts start separately)": 0.5,
            "suspension (suspended jobs run without it)": 0.5,
            "fair-share": 1,
            "preemption": 1,
            "limits of associations": 1,
            "SchedulerParameters bf_busy_nodes": 1,
        },
        abs=0.02,
    )


def test_priorities_of_the_trace_carry_fair_share() -> None:
    runs = RECORDED.runs
    runs = replace(runs, numbers={**runs.numbers, "priority": np.full(len(runs), 7, dtype=np.int64)})
    scheduler = SiteScheduler(priority_weight_fairshare=100)
    subject = subject_of(runs, replace(RECORDED.known.site, scheduler=scheduler), (), Wanted(priority=None))
    assert subject.priority
    assert any("priorities are the trace's own" in note for note in subject.notes)
    start = subject.jobs.real["start"]
    assert "fair-share" not in shares(compare(subject, Schedule(start, start + 1, start, start, {})))


def test_parts_say_who_differs() -> None:
    late = (RECORDED.runs.codes["queue"] == 2).astype(np.int64) * 50_000
    found = judged(RECORDED, late)
    errors = {part.value: part.error for part in found.parts if part.part == "queue"}
    assert errors["short"] == errors["gq"] == 0
    assert (errors["long"] or 0) > 0
    assert found.parts[0].part == "all"
    assert {part.part for part in found.parts} == {"all", "queue", "class", "size"}


def test_short_waits_are_not_compared_by_their_ratio() -> None:
    """A second or two, which the loops take, is no error of 100 %."""
    numbers = dict(RECORDED.runs.numbers)
    one = replace(RECORDED, runs=replace(RECORDED.runs, numbers={**numbers, "start": numbers["submit"] + 1}))
    found = judged(one, 1)
    assert found.parts[0].error == pytest.approx(1 / 20)
    assert found.verdict == "trust"


def test_too_few_jobs_are_no_basis() -> None:
    def first(columns: Any) -> Any:
        return {name: column[:20] for name, column in columns.items()}

    few = replace(RECORDED.runs, numbers=first(RECORDED.runs.numbers), codes=first(RECORDED.runs.codes))
    found = judged(replace(RECORDED, runs=few))
    assert found.verdict == "no basis"
    assert "30 are needed" in found.why
    with pytest.raises(AdminkitError, match=r"no basis for an answer: .* can be compared") as refused:
        refuse_without_basis(found, force=False)
    assert "--force" in refused.value.hint
    refuse_without_basis(found, force=True)


def test_a_trace_without_starts_cannot_be_compared() -> None:
    numbers = {**RECORDED.runs.numbers, "start": np.full(len(RECORDED.runs), -1, dtype=np.int64)}
    with pytest.raises(AdminkitError, match="no starts to compare with"):
        judged(replace(RECORDED, runs=replace(RECORDED.runs, numbers=numbers)))


def test_under_trust_the_signs_of_some_changes_are_right() -> None:
    """A few sites; `make soak` has forty."""
    found = signs(range(4), 5, 400, changes=(0, 2))
    assert set(found.recorded) == {"trust"}
    assert found.asked >= 1
    assert found.wrong == []


def test_a_hidden_cap_is_noticed() -> None:
    one = generated(11, [], 500)
    tight = replace(one.real.site, qos=(SiteQos("normal", max_user_tres={"cpu": 64}),))
    capped = replace(one, runs=happened(one.runs, *truth(one, Place(tight, one.real.outages))))
    assert calibrate(capped.subject(one.known)).verdict != "trust"
