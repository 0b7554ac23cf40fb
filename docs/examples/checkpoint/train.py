#!/usr/bin/env python3
"""A training run that resumes where it was stopped, and ends with the same weights as one that was never stopped.

    python3 train.py STEPS FOLDER

It has to save the model, the optimizer, the random numbers and the step. Which examples a step uses depends only on
the step's number, so no data loader has to be restored.
"""

import os
import signal
import sys
import time

import torch
from torch import nn

stop = False


def on_signal(number, frame):
    global stop
    stop = True


def batch(step):
    """64 points and which side of a circle they are on."""
    random = torch.Generator().manual_seed(step)
    points = torch.rand(64, 2, generator=random) * 2 - 1
    return points, (points.norm(dim=1) < 0.7).float()


def save(step, model, optimizer, file):
    state = {
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
    }
    torch.save(state, file + ".new")
    os.replace(file + ".new", file)


signal.signal(signal.SIGTERM, on_signal)
steps, folder = int(sys.argv[1]), sys.argv[2]
checkpoint = os.path.join(folder, "checkpoint.pt")
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
first = 0
if os.path.exists(checkpoint):
    state = torch.load(checkpoint)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    print(f"resumes at step {first}", flush=True)
for step in range(first, steps):
    if stop:
        save(step, model, optimizer, checkpoint)
        print(f"saved at step {step}", flush=True)
        sys.exit(85)
    points, inside = batch(step)
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(points)[:, 0], inside)
    loss.backward()
    optimizer.step()
    time.sleep(float(os.environ.get("PAUSE", "0")))
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
torch.save(model.state_dict(), os.path.join(folder, "weights.pt"))
print(f"done after {steps} steps, loss {loss.item():.4f}")
