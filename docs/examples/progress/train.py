#!/usr/bin/env python3
"""A training run that tells Slurm's accounting how far it has got: python3 train.py STEPS"""

import sys

import torch
from progress import Progress  # adminkit/progress.py, copied beside this file
from torch import nn

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
progress = Progress()
for _ in range(int(sys.argv[1])):
    points = torch.rand(64, 2) * 2 - 1
    inside = (points.norm(dim=1) < 0.7).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(points)[:, 0], inside)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    progress.step()
progress.write()
