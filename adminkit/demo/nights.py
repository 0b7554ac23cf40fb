"""What two users do in the story's last two weeks: a training fills the machine on some nights, and a pipeline starts
its image for each of many short runs. All of it is invented.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Final

from adminkit.demo.users import JST

#: A Monday: every earlier job has ended.
BEGIN: Final = int(datetime(2018, 4, 16, tzinfo=JST).timestamp())
DAYS: Final = 14
#: Jobs of the same programs as before, of those on one node.
JOBS: Final = 1_600

TRAINING: Final = "nightly.sh"
TRAINING_GPUS: Final = 8
TRAINING_LIMIT: Final = 3 * 3600
PIPELINE: Final = "tiles.sh"
#: The word that starts the pipeline's image.
CONTAINER: Final = "apptainer"
#: Their users, by how busy they are.
TRAINING_RANK: Final = 8
PIPELINE_RANK: Final = 12

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
#: Days, from 0, on whose evenings the training begins; hours after their midnight in which it submits jobs; the jobs.
_EVENINGS: Final = (1, 2, 3, 8, 9, 10)
_HOURS: Final = range(21, 28)
_EACH: Final = 28
_TILES: Final = 120


def trainings(rng: Random) -> Iterator[tuple[int, int]]:
    """Submission and elapsed time of each job: some every hour from 21:00 to 3:00 JST, of about two hours."""
    for day in _EVENINGS:
        for hour in _HOURS:
            for _ in range(_EACH):
                submit = BEGIN + day * _DAY + hour * _HOUR + rng.randrange(_HOUR)
                yield submit, rng.randint(5400, 9600)


def arrays(rng: Random) -> Iterator[tuple[int, list[int]]]:
    """Submission of each array of the pipeline, one on each working day, and the elapsed times of its tasks."""
    for day in range(DAYS):
        if day % 7 < 5:
            yield BEGIN + day * _DAY + 9 * _HOUR + rng.randrange(_HOUR), [rng.randint(40, 240) for _ in range(_TILES)]
