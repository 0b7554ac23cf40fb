"""`make matrix`: adminkit built and every suite on a real Slurm run on each release, one container each."""
