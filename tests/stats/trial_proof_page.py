"""docs/measured/trial-proof.md, made of the results of trial_proof.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from adminkit.units import show_short
from tests.stats.trial_proof import HALF, Known, Null, Site, wilson

PAGE: Final = Path(__file__).parents[2] / "docs/measured/trial-proof.md"
_INTRO: Final = """\
# Whether trials say what is true

<!-- Made by `python -m tests.stats.trial_proof`; do not edit. -->

These are trials made of the recorded waits of real days, so that the true effect is known. A trial takes a stretch of
consecutive days, starting at a day drawn at random, and draws its calendar. In an *A/A trial*, nothing is changed. In a
trial of a known effect, the mean wait of each of B's days is multiplied by a factor. Stretches overlap, because the
traces are short: the trials of one trace differ by their calendars more than by their days. Nothing is simulated, so
these trials do not show what a change does to the days after it. [trial.md](../trial.md) says how a trial works.

Ranges in parentheses are 95 % intervals of a share (Wilson).
"""
_SITES: Final = """
## The days

| trace | jobs | days | with waits | not counted at the start of each day |
|---|---|---|---|---|
"""
_NULL: Final = """
## Trials of no change

*Better* is the share of trials in which any look called B better; it may be at most 5 %. *Different* counts better and
worse. *Any size* is the share in which any look called the wait of any size of jobs different, with Holm's correction.
*Held* is the share in which the interval of the last look contained the truth, no change; it should be 93 to 97 %.

| trace | days | trials | better | different | any size | held |
|---|---|---|---|---|---|---|
"""
_KNOWN: Final = """
## Trials of a known effect

*Planned* is the probability that `trial plan` gives for showing this effect, and *shown* the share of trials that
showed it. If the plan was made of the same days, the two may differ by at most 5 percentage points. *Held* is the share
in which the interval of the last look contained the true effect. The larger effect of each length is the smallest that
the plan promises to show in four trials of five; the smaller one is 60 % of it.

| trace | plan made of | days | effect | planned | trials | shown | held |
|---|---|---|---|---|---|---|---|
"""
_AFTER: Final = f"""
Both effects of a length have the same *held*, because their trials have the same calendars and the interval scales with
the waits. In the rows with the plan of *{HALF}*, the plan may be wrong by as much
as the site changed: the waits of the second half vary more, or less, than those of the first. No test can know this in
advance, so a plan is right only as far as the coming days are like those before. Where a length is missing, the plan
says that it cannot show any effect.
"""


def write(sites: Sequence[Site], nulls: Sequence[Null], known: Sequence[Known]) -> None:
    PAGE.write_text(page(sites, nulls, known))


def page(sites: Sequence[Site], nulls: Sequence[Null], known: Sequence[Known]) -> str:
    parts = [_INTRO, _SITES, *_site_rows(sites), _NULL, *map(_null_row, nulls), _KNOWN, *map(_known_row, known), _AFTER]
    return "".join(parts)


def _site_rows(sites: Sequence[Site]) -> Iterator[str]:
    for one in sites:
        waits = sum(mean is not None for mean in one.means)
        yield f"| {one.name} | {one.jobs:,} | {len(one.means)} | {waits} | {show_short(one.carry_over)} |\n"


def _null_row(one: Null) -> str:
    counts = (one.better, one.different, one.sizes, one.held)
    shares = " | ".join(_share(count, one.trials) for count in counts)
    return f"| {one.site} | {one.days} | {one.trials} | {shares} |\n"


def _known_row(one: Known) -> str:
    return (
        f"| {one.site} | {one.history} | {one.days} | {100 * one.change:+.0f} % | {100 * one.planned:.1f} % |"
        f" {one.trials} | {_share(one.shown, one.trials)} | {_share(one.held, one.measured)} |\n"
    )


def _share(hits: int, trials: int) -> str:
    low, high = wilson(hits, trials)
    return f"{100 * hits / trials:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
