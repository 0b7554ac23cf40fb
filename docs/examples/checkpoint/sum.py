#!/usr/bin/env python3
"""Adds up 1 to LAST, one number a second. At SIGTERM it saves its state and exits with 85; run again, it resumes.

python3 sum.py LAST FILE
"""

import json
import os
import signal
import sys
import time

stop = False


def on_signal(number, frame):
    """Only note it: the work may be in the middle of a step."""
    global stop
    stop = True


def save(state, file):
    """Write a new file, then rename it: a kill in between leaves the old state whole."""
    with open(file + ".new", "w") as out:
        json.dump(state, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(file + ".new", file)


signal.signal(signal.SIGTERM, on_signal)
last, file = int(sys.argv[1]), sys.argv[2]
state = {"n": 0, "sum": 0}
if os.path.exists(file):
    with open(file) as saved:
        state = json.load(saved)
while state["n"] < last:
    if stop:
        save(state, file)
        sys.exit(85)
    time.sleep(float(os.environ.get("PAUSE", "1")))
    state["n"] += 1
    state["sum"] += state["n"]
save(state, file)
print(f"the sum of 1 to {last} is {state['sum']}")
