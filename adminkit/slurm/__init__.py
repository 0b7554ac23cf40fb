"""Every contact with Slurm: the only package that starts its programs."""
