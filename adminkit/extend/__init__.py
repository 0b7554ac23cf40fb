"""More time for running jobs that opted in, where no job waits for their nodes (docs/extend.md)."""
