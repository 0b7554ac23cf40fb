"""Months in Parquet: a copy of the view `run` beside the trace, month by month. docs/adr/0026-months-in-parquet.md.

`manifest.py` has the table that says which files are right, and the triggers that take a month out of it; `place.py`
where files are and which are trusted; `write.py` makes them; `door.py` answers SELECTs from them and from SQLite, with
`words.py` for columns of texts.
"""
