"""Jobs that go on with another number of GPUs: which ones, how many, and the steps of the change (docs/elastic.md)."""
