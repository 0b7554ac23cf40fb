"""How long a job will run and which limit is safe to ask for, from runs like it; how often that has failed."""
