"""One file per command group; contents.py is the table of contents, main.py the one error funnel."""
