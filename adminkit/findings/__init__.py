"""One judgement per file: its limits, its check, its advice. Pure: measures, limits and the time come in."""
