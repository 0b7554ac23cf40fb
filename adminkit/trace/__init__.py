"""The trace database: one SQLite file, every connection to it and every write into it."""
