"""The arms of the days: the keys of [extend] that each run has. A run's file is named for its arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.extend_real.workloads import EVERY, NEW, NEW_RISK, RISKS, SEEDS

#: Seconds before its end in which a job is looked at. policy.toml takes no less than LEAST_LEAD, which is half of
#: the usual limit on these days.
LEAD: Final = 20
LEAST_LEAD: Final = 120


@dataclass(frozen=True, slots=True)
class Rule:
    """Keys of [extend]; `lead` is that of the days, seconds. A step of less than a minute becomes one."""

    share: float = 0.25  # of the limit asked for: a step
    most: float = 2.0  # times the limit asked for
    lead: int = LEAD
    times: int = 8

    @property
    def toml(self) -> str:
        """The section of policy.toml, with the defaults left out; the lead is LEAST_LEAD there."""
        most = "" if self.most == Rule().most else f"most = {self.most:g}\n"
        return f'[extend]\nenabled = true\nlead = "00:{LEAST_LEAD // 60:02d}:00"\n{most}budget = "none"\n\n'


#: The defaults, as the first runs had them.
DEFAULT: Final = Rule()

#: Arm -> its keys; None: without extending. `off` and `again` are two runs of the same policy.
ARMS: Final[dict[str, Rule | None]] = {
    "off": None,
    "on": DEFAULT,
    "again": None,
    "most3": Rule(most=3),
    "most3lead40": Rule(most=3, lead=40),
}
#: Those that the first six days have at each risk.
FIRST: Final = ("off", "on", "again")
#: As the page calls what an arm changes.
WORDS: Final = {
    "off": "without",
    "on": "with",
    "again": "without, again",
    "most3": "with, `most` 3",
    "most3lead40": "with, `most` 3, `lead` 40 s",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Days that are compared as one: those of an arm against those without extending."""

    risk: int
    arm: str
    seeds: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether its days are those of two other groups."""
        return self.seeds == EVERY

    @property
    def title(self) -> str:
        keys = WORDS[self.arm].partition(", ")[2]
        days = {SEEDS: "" if self.arm == "on" else "the first six days", NEW: "six new days", EVERY: "all twelve days"}
        return ", ".join(filter(None, (f"Limits at a risk of {self.risk} %", keys, days[self.seeds])))


#: In the order of the page.
GROUPS: Final = (
    *(Group(risk, "on", SEEDS) for risk in RISKS),
    Group(NEW_RISK, "on", NEW),
    *(Group(NEW_RISK, arm, seeds) for arm in ("most3", "most3lead40") for seeds in (SEEDS, NEW, EVERY)),
)
