"""The synthetic trace: 55,127 jobs that look like those of the study."""
