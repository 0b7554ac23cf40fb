"""Headers between the rows: several files of sacct's text, one behind the other, each with columns of its own.

adminkit-ingest knows a header by its words and reads on by it. A statement has places for the columns that it was made
for: where a later header may name others, it is made for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from adminkit.ingest.sources.sacct_fields import FREE_FIELDS, KINDS_OF_FIELDS, columns_for, field_names
from adminkit.ingest.sources.text import Layout
from adminkit.ingest.spec import Column

#: Field -> the one whose column it has in a text without its own.
IN_PLACE_OF: Final = {"Eligible": "Submit"}
#: A field of sacct's that feeds nothing: stands for columns that are read over.
_READ_OVER: Final = "WCKey"


def wide(layout: Layout) -> Layout:
    """`layout` with every column that the trace takes: for a text whose later headers may name others."""
    return replace(layout, columns=columns_for((*KINDS_OF_FIELDS, *FREE_FIELDS)))


def header_line(layout: Layout) -> bytes:
    """The columns of `layout` as a header, with its line break."""
    words = [column.name if column.kind != "skip" else _READ_OVER for column in layout.columns]
    line = layout.delimiter.join(words) + (layout.delimiter if layout.ends else "")
    return line.encode("utf-8", "surrogateescape") + b"\n"


def words_of_headers(columns: Sequence[Column]) -> str:
    """What adminkit-ingest has to know of every field of sacct's: its place among `columns`, or only its kind."""
    places = {
        column.name: number for number, column in reversed([*enumerate(columns)]) if column.kind != "skip"
    }  # the first one of a name
    kinds = {column.name: column.kind for column in columns_for(field_names())}
    # Trap: free text without a place is read over, and a name is more than that.
    kinds |= {name: "text" for name, kind in KINDS_OF_FIELDS.items() if kind == "free"}
    found = []
    for name in kinds:
        other = IN_PLACE_OF.get(name)
        meaning = f"{places[name]}{f':{other}' if other else ''}" if name in places else kinds[name]
        found.append(f"{name}={meaning}")
    return ",".join(found)
