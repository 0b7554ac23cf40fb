"""How long a job will run, learnt from runs like it."""
