#!/usr/bin/env python3
"""A training run on as many GPUs as the job has now: the total batch stays the same, and each process takes its share.

    torchrun --standalone --nproc_per_node="$ADMINKIT_GPUS" train.py STEPS FOLDER

Which examples a step uses depends only on the step's number, and the gradient is that of the whole batch. So the
weights are those of a training run that always had the same GPUs, apart from the order in which floating-point numbers
are added.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 64  # of all processes together
stop = False


def on_signal(number, frame):
    global stop
    stop = True


def anyone(flag):
    """Whether the flag is set in any process; every process gets the same result."""
    said = torch.tensor(int(flag))
    dist.all_reduce(said, dist.ReduceOp.MAX)
    return bool(said)


def share(step, rank, processes):
    """This process's part of the step's points, and which side of a circle they are on."""
    random = torch.Generator().manual_seed(step)
    points = torch.rand(BATCH, 2, generator=random) * 2 - 1
    return points[rank::processes], (points.norm(dim=1) < 0.7).float()[rank::processes]


signal.signal(signal.SIGTERM, on_signal)
steps, folder = int(sys.argv[1]), sys.argv[2]
checkpoint = os.path.join(folder, "checkpoint.pt")
dist.init_process_group("gloo")
rank, processes = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
first = 0
if os.path.exists(checkpoint):
    state = torch.load(checkpoint)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
if rank == 0:
    print(f"from step {first} on {processes}", flush=True)
for step in range(first, steps):
    if anyone(stop):
        if rank == 0:
            state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)
            print(f"saved at step {step}", flush=True)
        dist.barrier()
        dist.destroy_process_group()
        sys.exit(0)
    points, inside = share(step, rank, processes)
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(points)[:, 0], inside)
    loss.backward()
    optimizer.step()
    time.sleep(float(os.environ.get("PAUSE", "0")))
if rank == 0:
    torch.save(model.module.state_dict(), os.path.join(folder, "weights.pt"))
    print(f"done after {steps} steps", flush=True)
dist.barrier()
dist.destroy_process_group()
