"""Judgements of measures, one kind per file: limits, check, advice. Pure: time and limits are arguments."""
