"""Soft limits on a real Slurm: six pairs of runs, with and without, and the simulator beside them."""
