#!/usr/bin/env python3
"""The same for several processes, started by torchrun: they agree on the step at which they stop.

    torchrun --standalone --nproc_per_node=2 ddp.py STEPS FOLDER

Each process gets the signal, but not at the same step. If only one process exited, it would leave the others in a
collective that never ends. torchrun turns every code but 0 into 1, so they exit with 0, and the batch script says that
there is more to do.
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

stop = False


def on_signal(number, frame):
    global stop
    stop = True


def anyone(flag):
    """Whether the flag is set in any process; every process gets the same result."""
    said = torch.tensor(int(flag))
    dist.all_reduce(said, dist.ReduceOp.MAX)
    return bool(said)


signal.signal(signal.SIGTERM, on_signal)
steps, folder = int(sys.argv[1]), sys.argv[2]
checkpoint = os.path.join(folder, "checkpoint.pt")
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
model = DistributedDataParallel(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
first = 0
if os.path.exists(checkpoint):
    state = torch.load(checkpoint)
    first = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
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
    random = torch.Generator().manual_seed(2 * step + rank)
    points = torch.rand(64, 2, generator=random) * 2 - 1
    inside = (points.norm(dim=1) < 0.7).float()
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(model(points)[:, 0], inside)
    loss.backward()
    optimizer.step()
    time.sleep(float(os.environ.get("PAUSE", "0")))
    if rank == 0 and step % 100 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
if rank == 0:
    torch.save(model.module.state_dict(), os.path.join(folder, "weights.pt"))
    print(f"done after {steps} steps, loss {loss.item():.4f}")
dist.barrier()
dist.destroy_process_group()
