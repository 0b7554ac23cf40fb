"""Measures: read-only SELECTs as named constants, one file per measure. No thresholds, no wording."""
