"""A table as a pandas DataFrame: one dtype for each kind of value, whatever the values are, and units in `attrs`.

| dtype | for |
|---|---|
| `string` | text |
| `Int64` | counts, seconds, bytes: whole numbers |
| `Float64` | ratios, shares, hours, parts of a second |
| `datetime64[s, UTC]` | times |

Unknown is `<NA>` in the first three and `NaT` among times.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from adminkit.render.report import Cell, Report, Style

if TYPE_CHECKING:
    import pandas

Dtype = Literal["string", "Int64", "Float64", "datetime64[s, UTC]"]

#: How a value is shown -> its dtype and its unit. "" without a unit.
STYLES: Final[Mapping[Style, tuple[Dtype, str]]] = {
    "text": ("string", ""),
    "count": ("Int64", "count"),
    "ratio": ("Float64", "ratio"),
    "share": ("Float64", "share, 0 to 1"),
    "duration": ("Int64", "seconds"),
    "hours": ("Float64", "hours"),
    "time": ("datetime64[s, UTC]", "UTC"),
    "bytes": ("Int64", "bytes"),
    "energy": ("Float64", "joules"),
    "watts": ("Float64", "watts"),
    "quantity": ("Float64", "as described"),
    "measured": ("Float64", "as `unit` says"),
    "amount": ("string", "as `unit` says"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a frame."""

    name: str
    dtype: Dtype
    unit: str = ""


def report_frame(report: Report, *, totals: bool) -> pandas.DataFrame:
    """The rows of a report. `attrs` has its units and its header; `totals` adds the rows set apart below the table."""
    columns = [Column(one.name, *STYLES[one.style]) for one in report.fields]
    rows = [*report.rows, *report.totals] if totals else report.rows
    table = frame(columns, rows)
    table.attrs.update(plain(asdict(report.meta)))
    return table


def frame(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> pandas.DataFrame:
    """A DataFrame with these columns, also where there is no row. `attrs["units"]`: column -> unit."""
    import pandas

    values: Sequence[Sequence[Cell]] = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = {one.name: _array(one.dtype, cells) for one, cells in zip(columns, values, strict=True)}
    table = pandas.DataFrame(arrays)
    table.attrs["units"] = {one.name: one.unit for one in columns if one.unit}
    return table


def frame_of_arrays(columns: Sequence[Column], arrays: Mapping[str, Any]) -> pandas.DataFrame:
    """The same from whole columns: of texts the places of each among the names, of numbers these and which are unknown.

    A column of whole numbers that holds a part of one becomes one of real numbers.
    """
    import pandas

    units = {one.name: one.unit for one in columns if one.unit}
    table = pandas.DataFrame({one.name: _of_array(one.dtype, *arrays[one.name]) for one in columns})
    table.attrs["units"] = units
    return table


def _of_array(dtype: Dtype, values: Any, more: Any) -> Any:
    import numpy
    import pandas

    if dtype == "string":
        return pandas.array(numpy.array([*more, None], object)[values], dtype="string")
    if dtype == "Float64" or (values.dtype.kind == "f" and (values % 1 != 0).any()):
        return pandas.arrays.FloatingArray(values.astype(numpy.float64), more)
    whole = values.astype(numpy.int64)
    return pandas.arrays.IntegerArray(whole, more) if dtype == "Int64" else _times(whole, more)


def plain(value: Any) -> Any:
    """`value` with lists and dicts only, which pandas can write with a frame."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def _array(dtype: Dtype, cells: Sequence[Any]) -> Any:
    import numpy
    import pandas

    if dtype == "string":
        return pandas.array([None if cell is None else str(cell) for cell in cells], dtype="string")
    if dtype == "Float64":
        return pandas.array([None if cell is None else float(cell) for cell in cells], dtype="Float64")
    # Traps: a list with None goes through float64, which has no room for every whole number of 64 bits; and an array
    # of whole numbers takes 1.5 for 1, which index() refuses.
    unknown = numpy.fromiter((cell is None for cell in cells), bool, len(cells))
    whole = numpy.fromiter((0 if cell is None else operator.index(cell) for cell in cells), numpy.int64, len(cells))
    if dtype == "Int64":
        return pandas.arrays.IntegerArray(whole, unknown)
    return _times(whole, unknown)


def _times(seconds: Any, unknown: Any) -> Any:
    import numpy
    import pandas

    times = seconds.astype("datetime64[s]")
    times[unknown] = numpy.datetime64("NaT")
    return pandas.Series(times).dt.tz_localize("UTC").array
