"""One file per command group; main.py is the table of contents and the one error funnel."""
