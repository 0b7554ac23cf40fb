"""A whole Slurm on one host for tests: `make cluster-up`, `make cluster-down`, and `Cluster` in tests."""

from tests.cluster.harness.cluster import FINISHED, Cluster
from tests.cluster.harness.processes import ClusterError

__all__ = ["FINISHED", "Cluster", "ClusterError"]
