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

This page measures what [soft limits](../soft-limits.md) do to waits on a real Slurm. Six days at a site like the
study's (AAIC, 2017; see [the demo](../demo.md)) were run on private clusters with the real daemons, at about a
hundred times real speed. Each cluster had 16 slurmd daemons with 8 GPUs each, bf_interval=2 and bf_resolution=5. The
jobs only sleep. Each day ran twice on the same cluster, once with soft limits and once without; on every other day, the
run with soft limits came first. Both runs of a pair had the same jobs, the same slurm.conf (with
time_min_as_soft_limit), the same job_submit script, and the same guard, which ran every {PERIOD} s. The two runs
differed only in the policy, which decided whether jobs got a soft limit.

The days are generated from the seeds 1 to 6 (tests/soft_real/workloads.py), which were committed to the
repository before the first run. The simulator, not a real run, was used to choose how busy the days are. A day
has 411 jobs: 95 % use one GPU, 12 jobs use 2 to 8 GPUs of one node, 5 jobs use 2 to 4 nodes, and 4 jobs use 8
to 12 nodes, so wide jobs make up more of the work than in the study. The jobs need 5 to 120 s and ask for 5 to
60 minutes. In the large queue, 70 % of the jobs ask for the queue's maximum, and the median accuracy is
{ACCURACY["gq"][0]:g}; both figures are those of the study. Jobs are submitted in batches; all jobs of a batch have the
same name. For all but some new job names, 25 earlier runs were imported into a trace, from which `adminkit
incentives install` made the table of needs. The quantile is {QUANTILE}. `least` and `gap` are one minute, because the
days run at a hundred times real speed. `wide` is 0, so jobs keep their soft limits while a wide job waits.

These days cannot show everything. A soft limit is always in whole minutes, while the jobs here need only seconds.
Compared with what the job needs, a soft limit is therefore longer here than on a real site, and fewer jobs outlive
their soft limits than the quantile would suggest.
"""

DEFAULT: Final = """\
## With the default settings

The same days ran with [the defaults](../soft-limits.md#config): `quantile` 90, `longest` 1 h, `outlived` 40, `wide`
100. `least` and `gap` are one minute here too. No job on these days needs an hour or asks for all 16 nodes, so
`longest` and `wide` have no effect. Three things differ from the runs above: the quantile, `outlived`, and the
treatment of jobs with a new name. Such jobs are now planned from their user's other jobs; at the time of the runs
above, adminkit could not do that.
"""

SIMULATOR: Final = f"""\
The simulator replays each run {REPLAYS} times from the run's own records (when each job arrived, how long the job ran,
and which soft limit it had), with submissions moved at random by up to a second. The first table compares the effect of
soft limits on mean waits in the first pair of each day with their effect in the replays. The column *sign* says whether
the two effects have the same sign; *none known* means that the real effect is not significant.
"""

DISTANCES: Final = f"""\
The second table shows the mean wait of each workload. The allowed distance is defined as in
[simulate-real.md](simulate-real.md): the largest of {WAIT * 100:g} % of the mean of the real runs, {WAIT_SECONDS:g} s,
and the distance between two real runs. "Spread" is the standard deviation of the replays: it shows how much such a day
changes if submissions move by up to a second. "Before any run" is what the simulator predicted from the workload only,
without the records of a run.
"""

FRONTIER: Final = f"""\
The table shows the effect of different settings on the mean waits of {len(frontier.DAYS)} further days of the same
kind. These days ran only in the simulator. Each cell shows the change in seconds, ± half the width of the 95 % interval
over the days. "What each job will need" is a perfect prediction, in whole minutes. With `wide` = 50, no job has a soft
limit while a job that needs half of the nodes is waiting; these figures are computed as in [the
scenario](../simulate/soft-limits.md).
"""

LEARNT: Final = """\
## What follows

- Small jobs gain, and no job was killed early or left with a lower limit. The runs cannot say whether the widest jobs
  pay for this: in most pairs the jobs on 8 to 12 nodes waited longer, but the interval of the change ranges from a
  fifth less to a third more. In the simulator, over many more days, the waits of these jobs become shorter. Watch these
  waits on your own site.
- Two runs of the same workload can differ widely, most of all without soft limits. Replays with submissions moved by
  up to a second differ as much. A single pair of runs therefore proves nothing. Six pairs prove the sign of the
  change in the mean wait, but little more.
- The choice of quantile shifts waits from some job sizes to others. With a short soft limit, small jobs start
  ahead of the head job and then run for longer than planned: small jobs gain more, and wide jobs less. A longer
  soft limit protects the head job, and small jobs pay for it. Even a perfect prediction would not shorten the
  mean wait on such days; it would help mainly the widest jobs.
- `wide` = 50 protects the widest jobs but removes all of the gain. On such days, a wide job is nearly always
  waiting when another job waits. Jobs that lose their soft limits for that reason wait longer than they would if no
  job had a soft limit.
- Wide jobs need their own soft limits: if only small jobs have them, wide jobs gain nothing.
"""
