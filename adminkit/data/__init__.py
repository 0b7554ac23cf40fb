"""Training data: what a file system gives to readers of many files, and shards that are read in order."""
