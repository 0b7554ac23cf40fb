"""How busy the GPUs of running jobs are, and which jobs hold GPUs that they do not use."""
