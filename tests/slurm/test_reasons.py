"""Slurm's reasons as sentences."""

from __future__ import annotations

import pytest

from adminkit.messages import translated
from adminkit.slurm.reasons import SENTENCES, meaning


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "Priority",
            "jobs with higher priority are ahead of this job in the queue; with a shorter --time it may start in a gap",
        ),
        ("DependencyNeverSatisfied", "cancel it with scancel"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-2]", "(UnavailableNodes:n[1-2])"),
        (
            "QOSMaxGRESPerUser",
            "a user of its QOS may have no more GPUs and other GRES: the job waits until other jobs have ended",
        ),
        ("QOSMaxJobsPerUserLimit", "a user of its QOS may have no more running jobs"),
        ("QOSMaxSubmitJobPerUserLimit", "a user of its QOS may have no more jobs in the queue"),
        (
            "MaxCpuRunMinsPerUser",
            "no more run minutes of CPUs: the job waits until other jobs have ended; with a shorter",
        ),
        ("AssocGrpGRES", "all users of its account together may have no more GPUs and other GRES"),
        ("AssocGrpCPURunMinutesLimit", "with a shorter --time, the job counts less"),
        ("AssocGrpCPUMinutesLimit", "its account has used all its minutes of CPUs"),
        ("QOSGrpWallLimit", "its QOS has used all its time"),
        ("AssocMaxJobsLimit", "within its account, you may have no more running jobs"),
        ("QOSMaxWallDurationPerJobLimit", "it asks for more time than its QOS allows one job: it will not start"),
        ("QOSMaxCpuPerNode", "it asks for more CPUs than its QOS allows one node"),
        ("QOSMinCpuNotSatisfied", "it asks for less CPUs than its QOS requires"),
        ("QOSMaxMemoryPerUser", "no more memory"),
        ("MaxLicensePerAccount", "an account of its QOS may have no more licences"),
        (
            "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
            "down, drained or kept for jobs of higher priority",
        ),
        ("launch_failed_requeued_held", "look at its output, then scontrol release"),
        ("job requeued in held state", "release it with scontrol release"),
        ("Reservation weekly was deleted", "Reservation weekly was deleted"),
        ("NewInTheNextRelease", "NewInTheNextRelease"),
        ("Max", "Max"),
        ("", ""),
    ],
)
def test_a_code_is_one_sentence_or_itself(code: str, said: str) -> None:
    assert meaning(code).endswith(said) or said in meaning(code)
    assert "\n" not in meaning(code)


def test_a_sentence_is_one() -> None:
    assert all(not said.endswith(".") and "  " not in said for said in SENTENCES.values())


# --- in Japanese


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("Priority", "優先度の高いジョブ"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-2]", "(UnavailableNodes:n[1-2])"),
        ("QOSMaxGRESPerUser", "QOS の GPU などの GRES の上限 (1 ユーザーあたり) に達しています"),
        ("AssocGrpCPURunMinutesLimit", "アカウントの CPU 数 × 残り時間の上限 (全ユーザーのジョブの合計)"),
        ("QOSMaxWallDurationPerJobLimit", "求める時間が QOS の上限 (1 ジョブあたり) を超えています"),
        ("QOSMinCpuNotSatisfied", "下限より少ない"),
        ("QOSGrpWallLimit", "QOS の時間を使い切りました"),
        ("job_requeued_in_held_state", "再投入され"),
    ],
)
def test_a_code_is_a_sentence_in_japanese_too(code: str, said: str) -> None:
    assert said.replace(" ", "") in translated(meaning(code), "ja").replace(" ", "")


@pytest.mark.parametrize("code", ["NewInTheNextRelease", "Reservation weekly was deleted", ""])
def test_what_is_unknown_stays_as_slurm_says_it(code: str) -> None:
    assert translated(meaning(code), "ja") == code


def test_no_sentence_has_a_full_stop_in_japanese() -> None:
    """It is put into others."""
    assert all(not translated(said, "ja").endswith("。") for said in SENTENCES.values())
