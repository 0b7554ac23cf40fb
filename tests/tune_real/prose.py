"""The words of docs/measured/tune-real.md between its tables."""

from __future__ import annotations

from typing import Final

from tests.soft_real.drive import PERIOD
from tests.tune_real.simulated import REPLICATES
from tests.tune_real.workloads import RECORDS, TRIAL


def head(days: int) -> str:
    """What was done; `days`: pairs that there are."""
    return f"""\
# A tuned configuration on a real Slurm: {days} pairs of days

<!-- Made by `python -m tests.tune_real compare` from tests/data/tune_real/; do not edit. -->

This page measures what `adminkit tune` is worth on a real Slurm. Six days of a site ran under the defaults, and
`adminkit tune` was given their records. What it picked was then tried on twelve other days of the same site. Each of
these days ran twice on the same private cluster with the real daemons, once with the defaults and once with the pick;
on every other day, the run with the pick came first. Both runs had the same jobs. The pick was put in place by
policy.toml, its tables of points and needs, and `scontrol reconfigure` for lines of slurm.conf, without a restart.

The site is like the study's (AAIC, 2017; see [the demo](../demo.md)), at about a hundred times real speed: 16 slurmd
daemons with 8 GPUs each, bf_interval=2 and bf_resolution=5, and jobs that only sleep. A day has 411 jobs, as on
[soft-limits-real.md](soft-limits-real.md): 95 % use one GPU, 12 jobs use 2 to 8 GPUs of one node, 5 jobs use 2 to 4
nodes, and 4 jobs use 8 to 12 nodes. The jobs need 5 to 120 s and ask for 5 to 60 minutes; in the large queue, three
quarters ask for the queue's maximum. All days are of the same people, who keep their job names and habits; a fifth of
the names of single-GPU jobs are new each day. Before the first day, each of the other names had run 25 times.

*The defaults* are those of adminkit (no soft limits) and of Slurm, except that the scheduler's intervals are as much
shorter as the days, and age and size have a weight. No points were given, and time_min_as_soft_limit was set in both
runs. The guard of soft limits ran every {PERIOD} s in both.

The seeds {RECORDS[0]} to {RECORDS[-1]} and {TRIAL[0]} to {TRIAL[-1]} and the generator (tests/tune_real/workloads.py)
were committed to the repository before the first run, and the pick before the first of the twelve days. Nothing was
changed by hand afterwards. `adminkit tune` itself did not recommend its pick (below): the trial is what tells. A first
set of five pairs was thrown away, as its runs with the defaults had the pick's table of points: points are in force by
`adminkit incentives install`; the policy is not enough. The pick stayed the same.
"""


TUNED: Final = """\
The levers and the constraints are in tests/tune_real/tune.toml: Slurm's scheduler, the weight of size, points by class,
and soft limits. Groups of five jobs or more were judged (`jobs = 5`): the default is 30, and six days have 12 jobs
above 64 GPUs. The six days followed each other in the trace as closely as such days do, so that four of them were
searched on and two were held out; for so short a trace, `adminkit tune` takes tenths of these times for days. As the
calibration found no basis on six days, the search was run with `--force`. Submissions were moved by up to a minute,
as always, which is a fifth of such a day.

This search was chosen among three, all of the same six days and before any of the twelve. The first one had levers by
which wide jobs lose their reservation or their rank, too (a bf_window shorter than the longest limit,
bf_min_prio_reserve, PriorityFavorSmall): what it found cut the mean wait by nearly nine tenths and let jobs above 64
GPUs wait more than 1.5 times as long, so it picked nothing. The second one allowed no group of jobs to wait a fifth
longer even within its interval, and picked a combination that cut the simulated mean wait by a quarter. The third one,
whose answer follows, has the usual constraints.

"""

FIGURES: Final = """\
Each figure is computed for each run, and the columns show the means over the days. The 95 % interval of the change uses
Student's t over the pairs. A head job is a job that was first in the queue in at least one of the two runs for some
seconds.
"""

EACH: Final = """\
Mean waits in seconds.
"""

SIMULATOR: Final = f"""\
The simulator was given each day before it ran, with the history that the real runs had, and replayed it
{REPLICATES} times with submissions moved by up to a second. The column *sign* says whether the real and the simulated
effect have the same sign; *none known* means that the real effect is not significant.
"""
