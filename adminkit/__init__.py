"""adminkit: the Slurm operator's kit for honest time limits."""

__version__ = "0.1.0"
