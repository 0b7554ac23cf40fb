"""Extending jobs on a real Slurm: days that run with it, without it, and without it again."""
