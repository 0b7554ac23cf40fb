"""The simulator beside the real slurmctld: workloads, private clusters that run them, and the comparison."""
