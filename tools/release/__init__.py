"""A release: its number, what is built, its checksums, signature and list of parts, and the check of all of it."""
