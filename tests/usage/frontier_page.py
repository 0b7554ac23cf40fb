"""What thresholds of [idle] regain and whom they hit, on made jobs. Writes docs/measured/idle.md:

python -m tests.usage.frontier_page
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adminkit.policy.idle_settings import Idle, settings_of_policy
from adminkit.units import show_duration
from adminkit.usage.replay import Frontier, frontier
from tests.usage.made_uses import TAILS, made

PAGE: Final = Path(__file__).parents[2] / "docs/measured/idle.md"
#: Jobs of each set.
MANY: Final = 4000
#: The share of acts that may be false alarms.
MOST: Final = 0.05
HEAD: Final = """# What thresholds of `[idle]` regain, and whom they hit

<!-- Made by `python -m tests.usage.frontier_page`; do not edit. -->

**The jobs are generated, not recorded.** No public trace with readings of each GPU of each job could be had: Philly's
and MIT SuperCloud's are archives of gigabytes that were out of reach, those of Acme, Helios and Alibaba have no use of
single jobs by the minute. To see what the thresholds would do at your site, use your own readings:
[`adminkit idle --replay FILE`](../idle.md#replay).

Run times and GPUs are drawn from the quantiles of Microsoft's Philly clusters in 2017 (82,247 jobs; those of half an
hour or more). Shares of idle time are what
[affinode](https://affinode.io/case-studies/msft-philly-dataset/analysis/case-study.html) found in Philly's readings:
on average, no GPU was in use in 49 % of the minutes of jobs below six hours, and in 25 % of
those of jobs above a day. In that trace 65 % of idle periods were within a job, which used its GPUs again; here it is
75 to 91 %, so false alarms are rather too many here than too few. The length of a pause is not published: its median
is assumed to be five minutes, and there are three sets of {many:,} jobs, whose pauses have a short, a middle and a long
tail (log-normal with sigma {tails}). A third of the jobs stall: what is left of their idle time is at their end
(tests/usage/made_uses.py).

Every rule is replayed with the code that decides in a round, every five minutes, with the default `grace` and with half
of `act` as `warn`. A **false alarm** is an act on a job that used a GPU later. **Regained** are the GPU-hours from the
other acts to the ends of their jobs, as a share of all GPU-hours after the last use of jobs. The defaults are marked.
"""
TAIL: Final = """
## Why the defaults are what they are

- By default `[idle]` only warns. How long pauses are decides everything: with a short tail the default thresholds hit
  nobody, with a middle tail more than a quarter of their acts are false alarms, with a long one half of them are. A
  site does not know its tail before it has replayed its own readings. Until then, leave `acts` empty.
- `act = 02:00:00` with `used_before = 2` gives a job four hours that used its GPUs, and two to one that never did. With
  half as long, a tenth more would be regained, and in the first two sets there would be many more false alarms.
- Where the tail is not known and something has to be done, `act = 06:00:00` is the recommended threshold: it still
  regains between a third and more than half of what can be regained, and in the first two sets hits hardly any job. The
  order of acts matters more than any threshold: `points`, `shrink` and `requeue` lose no work that was saved, `cancel`
  does.
"""


def page(many: int = MANY) -> str:
    rules = settings_of_policy(Idle())
    tails = ", ".join(f"{sigma:g}" for sigma in TAILS.values())
    parts = [HEAD.format(many=many, tails=tails)]
    for tail in TAILS:
        parts.append(_table(tail, frontier(list(made(many, tail)), rules), rules.act, rules.used_before))
    return "\n".join([*parts, TAIL.lstrip("\n")])


def _table(tail: str, found: Frontier, act: int, used_before: float) -> str:
    best = found.best(MOST)
    lines = [
        f"## Pauses with a {tail} tail",
        "",
        f"{found.jobs:,} jobs with {found.hours:,.0f} GPU-hours, of which {found.idle:,.0f} without use, and"
        f" {found.last:,.0f} of these after the last use.",
        "Most is regained with at most 5 % false alarms by "
        + (f"`act = {show_duration(best.act)}` and `used_before = {best.used_before:g}`." if best else "no threshold."),
        "",
        "| act | used_before | warned | acts | false alarms | regained | used after a false alarm |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found.points:
        bold = "**" if (one.act, one.used_before) == (act, used_before) else ""
        false = "" if one.false_share is None else f" ({100 * one.false_share:.1f} %)"
        cells = (
            show_duration(one.act), f"{one.used_before:g}", f"{one.warned:,}", f"{one.acted:,}",
            f"{one.false:,}{false}",
            f"{one.regained:,.0f} h ({100 * one.regained / found.last:.0f} %)", f"{one.harmed:,.0f} h",
        )  # fmt: skip
        lines.append("| " + " | ".join(f"{bold}{cell}{bold}" for cell in cells) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page())
