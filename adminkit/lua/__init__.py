"""The Lua that slurmctld runs, in Python: a runtime for each release, and values as Lua's literals."""
