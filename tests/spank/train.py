"""What a user's training looks like to a signal: train.py NAME [workers]. Writes to $STAGE as actor.c does."""

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

name = sys.argv[1] + os.environ.get("RANK", "")  # under torchrun each has its own
stage = Path(os.environ["STAGE"])
signalled = False


def note(line: str) -> None:
    with (stage / "heard").open("a") as file:
        file.write(line + "\n")


def on_signal(number: int, frame: FrameType | None) -> None:
    """The handler: the workers of a pool inherit it, and would say so under their own names."""
    global signalled
    signalled = True
    note(name if multiprocessing.parent_process() is None else "worker")


def square(number: int) -> int:
    return number * number


def ready() -> None:
    (stage / f"ready.{name}.new").write_text(str(os.getpid()))
    (stage / f"ready.{name}.new").rename(stage / f"ready.{name}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGHUP, on_signal)
    if sys.argv[2:] == ["workers"]:
        with multiprocessing.get_context("fork").Pool(3) as pool:
            pool.map(square, range(10))
            ready()
            while not signalled:
                time.sleep(0.01)
            note(f"checkpoint {sum(pool.map(square, range(10)))}")
            time.sleep(60)
    ready()
    time.sleep(60)
