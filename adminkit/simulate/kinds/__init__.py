"""The kinds of scenarios, one file each: keys, and a pure function from today's case to the scenario's."""
