"""Search by simulation for a configuration that makes waits shorter and harms nobody. docs/tune.md."""
