"""The words of docs/measured/soft-limits-real.md between its tables."""

from __future__ import annotations

from typing import Final

from tests.simulate_real.compare import WAIT, WAIT_SECONDS
from tests.soft_real import frontier
from tests.soft_real.compare import REPLAYS
from tests.soft_real.drive import PERIOD
from tests.soft_real.history import QUANTILE
from tests.soft_real.workloads import ACCURACY

HEAD: Final = f"""# Soft limits on a real Slurm: six pairs of runs

<!-- Made by `python -m tests.soft_real compare` from tests/data/soft_real/; do not edit. -->

Six days of a site like the study's, about a hundred times as fast, ran on private clusters with the real daemons:
16 slurmd of 8 GPUs, bf_interval=2, bf_resolution=5, jobs that sleep. Each day ran twice on one cluster, with [soft
limits](../soft-limits.md) and without them; every other day began with them. Both runs of a pair have the same jobs,
the same slurm.conf (with time_min_as_soft_limit), the same script at submission, and the guard every {PERIOD} s: only
the policy says whether jobs get a soft limit.

The days are generated from the seeds 1 to 6 (tests/soft_real/workloads.py), which were committed before the first run.
The simulator decided how busy they are; no real run did. A day has 411 jobs: 95 % on one GPU, 12 on 2 to 8 GPUs of a
node, 5 on 2 to 4 nodes and 4 on 8 to 12 nodes, which is more wide work than in the study. They need 5 to 120 s and ask
for 5 to 60 minutes: in the large queue 70 % ask for its maximum, with a median accuracy of {ACCURACY["gq"][0]:g}, both
as in the study. Jobs come in batches with one name. Except for some new names, 25 earlier runs of each name were
imported into a trace, from which `adminkit incentives install` made the table. The quantile is {QUANTILE}; `least` and
`gap` are a minute, because time runs a hundred times as fast; `wide` is 0: jobs keep their soft limits while a wide job
waits.

These days cannot show everything: a soft limit is always in whole minutes, while the needs here are seconds. So it is
longer relative to the need than on a site, and fewer jobs outlive it than the quantile says.
"""

DEFAULT: Final = """\
## With the default settings

The same days ran with [the defaults](../soft-limits.md#config): `quantile` 90, `longest` 1 h, `outlived` 40, `wide`
100. `least` and `gap` are a minute here too. No job of these days needs an hour or asks for all 16 nodes, so `longest`
and `wide` change nothing. Three things differ from the runs above: the quantile, `outlived`, and the treatment of
jobs with a new name: they are now planned from their user's other jobs, which adminkit could not yet do at the time of
those runs.
"""

SIMULATOR: Final = f"""\
The simulator replays each run with the run's own records (when each job came, how long it ran, which soft limit it
had), {REPLAYS} times, with submissions moved at random by up to a second. The first table shows what soft limits do to
mean waits, in the first pairs and in their replays.
"""

DISTANCES: Final = f"""\
The second table has the mean wait of each workload. The stated error is that of [simulate-real.md](simulate-real.md):
the distance to the mean of the real runs may be at most {WAIT:.0%} or {WAIT_SECONDS:g} s, or the distance between two
real runs if that is larger. "Spread" is the standard deviation of the replays: the effect of a second more or less on
such a day. "Before any run" is the simulator's answer from the workload without any run.
"""

FRONTIER: Final = f"""\
The table shows what other settings do to the mean waits of {len(frontier.DAYS)} further days of the same kind, only by
the simulator: change in seconds, ± half of the 95 % interval over the days. "What each job will need" is a perfect
prediction, in whole minutes. With `wide` = 50 no job has a soft limit while a job on half the nodes waits; these
figures are computed as in [the scenario](../simulate/soft-limits.md).
"""

LEARNT: Final = """\
## What follows

- Small jobs gain, and no job was killed early or left with a lower limit. The runs neither show nor exclude that the
  widest jobs pay for it: in most pairs those on 8 to 12 nodes waited longer, and the interval includes a fifth less as
  well as a third more. In the simulator, over many more days, they wait for a shorter time. Watch them.
- The same workload can run very differently twice, most of all without soft limits; replays with submissions moved by a
  second differ as much. So a single pair of runs proves nothing, and six pairs prove the sign of the change in the mean
  wait and little more.
- The quantile moves waits from some sizes to others. With a short soft limit, small jobs start ahead of the head job
  and then run on past the limit: small jobs gain more, wide ones less. A longer soft limit protects the head, and small
  jobs pay. Even a perfect prediction would not shorten the mean wait of such days; it shortens that of the widest jobs
  most.
- `wide` = 50 protects the widest jobs but removes all of the gain: on such days nearly every job that waits does so
  while a wide job is waiting too, and jobs that lose their soft limits wait longer than if there were none.
- Wide jobs need their own soft limits: if only small jobs have one, wide jobs gain nothing.
"""
