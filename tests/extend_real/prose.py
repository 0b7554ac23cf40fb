"""The words of docs/measured/extend-real.md between its tables."""

from __future__ import annotations

from typing import Final

from tests.extend_real.arms import LEAD, LEAST_LEAD, Rule
from tests.extend_real.drive import LOOK, PERIOD, SIGNAL
from tests.extend_real.simulated import REPLICATES
from tests.extend_real.workloads import GROWTH, LOADS, PAST_RUNS, SAVES, SPAN

HEAD: Final = f"""# More time for running jobs, on a real Slurm

<!-- Made by `python -m tests.extend_real compare` from tests/data/extend_real/; do not edit. -->

This page measures what `[extend]` does on a real Slurm: how much work it saves that would be lost at limits, and
whether other jobs wait longer for it. Days at a small site were run on private clusters with the real daemons: 16
slurmd daemons with 8 GPUs each, bf_interval=2 and bf_resolution=5. The jobs only sleep. Each day ran without extending,
with it, and without it again, each time on a new cluster. The runs of a day had the same jobs, the same slurm.conf, the
same job_submit script and the same checkpoint plugin; they differed only in the policy, and in the rounds of
`adminkit extend run`, one every {PERIOD} s. The two runs without extending show how far two runs of one policy are
apart.

The days are generated from the seeds 1 to 12 (tests/extend_real/workloads.py). The first six, and the default keys of
`[extend]`, were committed to the repository before the first run. They did not reach the goal. So other keys were tried
in the simulator on these six days, and two sets of them ran on the real Slurm, at a risk of 30 %: `most` 3, and `most`
3 with a lead of 40 s. As the keys had been chosen on the first six days, they also ran on six new days. The keys and
the new days were committed before their first run, and the new days ran with the default keys, too.

Three in ten jobs have 2 to 8 nodes. The first day of each six is quiet and the last one is busier than the nodes can
bear: the work that comes is {LOADS[1]:g} to {LOADS[6]:g} times what the GPUs can do in the {SPAN} s over
which jobs come. Each job asks for the limit that [`recommend`](../recommend.md) makes of {PAST_RUNS} earlier runs of
its name, at a risk of 10 % or of 30 %. For one name in five, jobs need {GROWTH:g} times as long on the day as before.
About {SAVES} % of the jobs have a checkpoint: {SIGNAL} s before their end they save what is left to do, and are put
back.
"""

LIMITS: Final = f"""\
## What these days cannot show

- The days are about sixty times as fast as real ones, but Slurm's limits are in whole minutes, and slurmctld looks for
  jobs beyond their limit only every 30 s. A step of 25 % is therefore a minute, which is as much as the whole limit
  of a short job, and a job that needs a few seconds more than its limit may end before Slurm looks.
- The lead is {LEAD} s or 40 s. policy.toml takes no less than {LEAST_LEAD} s, so the compiled policy was changed for
  these runs. `budget` is `none`; all other settings are the defaults.
- A job that is ended at its limit is not submitted again, so the work of a second try is not counted.
- A head that was planned when a job had got more time already is promised a start after that job's end. Such waits are
  part of the mean wait above, but no planned start moved.
"""

METHOD: Final = f"""\
Intervals are those of 95 %, by the bootstrap: days are drawn with replacement, and of each day its jobs, of which the
three runs stay together. Every {LOOK} s the test asked Slurm for the planned start of the first waiting job of each
queue, and kept the first planned start of each of these heads.
"""

_DONE: Final = """\
The next table shows what the rounds did. A refusal is recorded once for each job and reason. The last column has the
work of the jobs that were ended at their limit in spite of extending, by the last reason for which they got no more
time. `limit` is the queue's maximum, `most` is {most} the limit that was asked for.
"""


def done(rule: Rule | None) -> str:
    """Before the table of what the rounds did."""
    times = 2 if rule is None else rule.most
    return _DONE.replace("{most}", "twice" if times == 2 else f"{times:g} times")


SIMULATED: Final = f"""\
## The same days in the simulator

The simulator ran each day with and without extending, from the committed day only: the same jobs and keys, the same
rounds and scheduler settings, {REPLICATES} times with submissions moved by up to two seconds. Both columns of hours are
changes of the GPU hours lost at limits by jobs without a checkpoint; ranges hold 95 % of the replicates. Waits are
changes of the mean wait of the jobs that got no more time; which jobs these are differs between the real Slurm and
each replicate. On quiet days hardly any replicate differs from another, so a range may have no width. Waits of single
days agree less well: between the two real runs without extending, they differ as much.
"""

FOUND: Final = """\
## What the runs found

The first runs with extending (days 1 to 4 at a risk of 10 %, day 1 at 30 %) refused more than they had to. Slurm's
accounting counted GPUs without their type (`AccountingStorageTRES=gres/gpu`) on nodes that have one, and adminkit
counted the GPUs of one-node jobs twice where jobs of several nodes ran beside them. Nodes seemed overbooked, and the
reason that was given, `reservation`, was wrong too. Only about half (at 10 %) and two fifths (at 30 %) of the loss at
limits was avoided. Both errors were corrected, and all runs with extending were made again; the runs without it were
kept.
"""

BUSY: Final = """\
Up to 20 runs went side by side on two cores, beside other work. To see whether that disturbs them, each run measured
its own pauses of a quarter of a second: *longest pause* is by how much the longest one was too long. The runs of the
new days and of the other keys, up to twelve side by side, had a higher priority than the other work.
"""


LEARNT: Final = """\
## What follows

- At a risk of 10 %, the goal of 80 % less was reached on the first five days and not over all six. At a risk of 30 %,
  `most` 3 reached it on the six days on which it had been chosen, and missed it on the six new ones and on all twelve.
  With a lead of 40 s as well, it was reached on the new days and on all twelve. No interval lies wholly beyond it.
- No head started later than planned by more than the noise, except one with each of the other keys on a new day, by 4
  and 12 s more than it. Both waited in the end for jobs that had got no more time, and that Slurm ended 10 to 18 s
  after their limits.
- Jobs that come later can wait longer for what was given. At a risk of 10 % this does not show. At 30 %, the mean wait
  of the others grew by 0.6 to 0.7 s with the default keys, and by no more with `most` 3. With a lead of 40 s as well it
  grew by 1.1 s, mostly because of one new day, on which it grew by 7 s.
- On the days with more work than the nodes can do, least is saved: nearly always a job is planned on the nodes. On the
  other days, what is lost in spite of extending is mostly lost to bounds that the operator sets: the queue's maximum at
  a risk of 10 %, `most` at 30 %.
- **The defaults stay: `most` 2 and a lead of 10 minutes.** On these days `most` 3 does no harm, but a default has to
  suit busy sites, too. On three months of KTH, [simulated](../simulate/extend.md#what-was-measured), `most` 3 loses 4 %
  more hours (0 to 7 %), and jobs with more than 64 CPUs wait 26 min longer (12 to 39). With twice the lead as well, the
  mean wait of all jobs is 2.5 min longer. On five quieter days of RICC, `most` 3 saves a third more, and jobs of 1 to
  24 h wait 17 to 38 s longer. A site that has idle nodes and limits of a risk of 30 % can set `most = 3.0`
  in policy.toml, after it has asked the scenario `extend` about its own trace.
"""
