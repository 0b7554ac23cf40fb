"""Judgements of measures, one kind per file: limits, check, advice. Pure: measures, limits and the time come in."""
