"""Whether a request can start, when, and what smaller one could, without the command line.

Pure but for ask.py, which asks Slurm, and history.py, which reads the trace.
"""
