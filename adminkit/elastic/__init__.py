"""Jobs that continue with another number of GPUs: which, how many, and the steps of the change (docs/elastic.md)."""
