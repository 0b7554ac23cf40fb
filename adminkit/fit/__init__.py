"""Whether a request can start, when, and what smaller one could: pure but for ask.py, and without the command line."""
