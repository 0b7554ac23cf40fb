"""Compiled tables on their way to slurmctld: bundled, rehearsed, put, carried to other hosts, confirmed."""
