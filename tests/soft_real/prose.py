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
limits](../soft-limits.md) and without; every other day began with them. Both runs of a pair have the same jobs, the
same slurm.conf (with time_min_as_soft_limit), the same script at submission, and the guard every {PERIOD} s: the policy
alone says whether jobs get a soft limit.

The days are made of the seeds 1 to 6 (tests/soft_real/workloads.py), which were committed before the first run. The
simulator chose how busy they are, never a real run. A day has 411 jobs: 95 % on one GPU, 12 on 2 to 8 GPUs of a node,
5 on 2 to 4 nodes and 4 on 8 to 12 nodes, which is more wide work than the study has. They need 5 to 120 s and ask for 5
to 60 minutes: in the large queue 70 % for its maximum, with a median accuracy of {ACCURACY["gq"][0]:g}, both as in the
study. Jobs come in batches of a name. 25 earlier runs of each name, but for some new ones, were imported into a trace,
of which `adminkit incentives install` made the table. The quantile is {QUANTILE}; `least` and `gap` are a minute, as
time is so much faster; `wide` is 0: jobs keep their soft limits while a wide one waits.

What these days cannot show: a soft limit is in whole minutes, here as everywhere, while the needs are seconds. So it is
longer beside the need than on a site, and fewer jobs outlive it than the quantile says.
"""

DEFAULT: Final = """\
## With the default settings

The same days with what [the defaults](../soft-limits.md#config) say: `quantile` 90, `longest` 1 h, `outlived` 40,
`wide` 100. `least` and `gap` are a minute here too. No job of these days needs an hour or asks for all 16 nodes, so
`longest` and `wide` change nothing. What differs from above is the quantile, `outlived`, and that jobs of a new name
are planned by their user's other jobs, which adminkit did not do yet when the runs above were made.
"""

SIMULATOR: Final = f"""\
The simulator replays each run with the run's own records: when each job came, how long it ran, which soft limit it
had; {REPLAYS} times, with submissions moved at random by up to a second. First what soft limits do to mean waits: the
first pairs beside their replays.
"""

DISTANCES: Final = f"""\
The mean wait of each workload. The stated error is that of [simulate-real.md](simulate-real.md): the distance to the
mean of the real runs may be at most {WAIT:.0%} or {WAIT_SECONDS:g} s, or the distance between two real runs where that
is larger. "Spread" is the standard deviation of the replays: what a second more or less does to such a day. "Before any
run" is the simulator's answer from the day alone.
"""

FRONTIER: Final = f"""\
What other settings do to the mean waits of {len(frontier.DAYS)} further days of the same kind, by the simulator alone:
change in seconds, ± half of the 95 % interval over the days. "What each job will need" is a perfect prediction, in
whole minutes. With `wide` = 50 no job has a soft limit while one of half the nodes waits: its figures are worked out as
[the scenario](../simulate/soft-limits.md) does.
"""

LEARNT: Final = """\
## What follows

- Small jobs gain, and nobody was cut. That the widest jobs pay is neither shown nor excluded: in most pairs those of 8
  to 12 nodes waited longer, and the interval holds a fifth less as well as a third more. In the simulator, over many
  more days, they wait less. Watch them.
- One workload can run very differently twice, most of all without soft limits; submissions that are moved by a second
  spread the replays as far. So a single pair of runs proves nothing, and six prove the sign of the mean wait and little
  more.
- The quantile moves waits from some sizes to others. Jobs outlive a short soft limit after they passed the head of the
  queue: small jobs gain more, wide ones less. A longer one protects the head, and small jobs pay. Even a perfect
  prediction would not shorten the mean wait of such days; it shortens that of the widest jobs most.
- `wide` = 50 protects the widest jobs and takes all the gain: on such days nearly everybody who waits does so beside a
  wide job, and those who lose their soft limits wait longer than if there were none.
- Wide jobs need soft limits of their own: where only small jobs have one, they gain nothing.
"""
