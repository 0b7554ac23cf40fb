"""One file per report: what a measure says, as a Report."""
