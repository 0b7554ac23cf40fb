"""Report: the content of a report, without its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from adminkit.errors import unknown_word
from adminkit.messages import translated

if TYPE_CHECKING:
    import pandas

Cell = str | int | float | None
#: How a value is shown to people; "measured": as the row's `unit` says. JSON and CSV always carry the bare value in
#: base units; that of an "amount" is the text of a decimal number, so that money stays exact.
Style = Literal[
    "text", "count", "ratio", "share", "duration", "hours", "time", "bytes", "energy", "watts", "quantity", "measured",
    "amount",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name is the key in JSON, the header in CSV and tables.

    A `quiet` column is in tables only where its texts differ or a number is not zero; JSON and CSV always have it. The
    text of a `below` column stands on lines of its own below its row in the terminal. A `data` column is for programs:
    only JSON and CSV have it. CSV has the texts of an `exact` column even where a spreadsheet would compute them: no
    user chooses them.
    """

    name: str
    style: Style = "text"
    help: str = ""
    quiet: bool = False
    below: bool = False
    data: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Meta:
    """What every output begins with.

    `excluded` counts, per filter in the order applied, the jobs it left out; `notes` are sentences a reader must know,
    `answers` those that answer the question: they come first.
    `span` is the first and the last end of any job in the trace, for readers of an open window.
    """

    title: str
    database: str
    window: tuple[int | None, int | None]  # epoch seconds, [since, until); None where open
    clusters: Sequence[str]
    filters: Mapping[str, str]
    jobs: int | None  # how many count; None where the report is not about jobs
    excluded: Mapping[str, int]
    notes: Sequence[str] = ()
    span: tuple[int | None, int | None] = (None, None)
    as_of: int | None = None  # epoch seconds: the trace as it was then; None: as it is now
    answers: Sequence[str] = ()
    moment: str = "ended"  # what jobs did in the window

    @classmethod
    def plain(
        cls, title: str, notes: Sequence[str], clusters: Sequence[str] = (), filters: Mapping[str, str] | None = None
    ) -> Meta:
        """The header of a listing of files, rules or hosts, which has no jobs of a trace."""
        return cls(title, "", (None, None), clusters, filters or {}, None, {}, notes)


@dataclass(frozen=True, slots=True)
class Line:
    """A cumulative histogram: `share[i]` (0 to 1) of the jobs have at most `seconds[i]`; a staircase."""

    name: str
    seconds: Sequence[float]
    share: Sequence[float]


@dataclass(frozen=True, slots=True)
class Curves:
    """One panel of cumulative histograms over time. `marks` are named moments on its axis, in seconds."""

    title: str
    subtitle: str
    lines: Sequence[Line]
    marks: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """The spread of one row: the box holds the middle half, the whiskers reach from p10 to p90."""

    name: str
    p10: float
    p25: float
    median: float
    p75: float
    p90: float
    mean: float


@dataclass(frozen=True, slots=True)
class Boxes:
    """One panel of box plots on a common axis from 0 to 1 or the largest value."""

    title: str
    axis: str
    boxes: Sequence[Box]


@dataclass(frozen=True, slots=True)
class Bar:
    """A named number of jobs and its share (0 to 1) of the panel's whole."""

    name: str
    jobs: int
    share: float


@dataclass(frozen=True, slots=True)
class Bars:
    """One panel of horizontal bars."""

    title: str
    subtitle: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Series:
    """One panel of shares over time: `shares[i]` (0 to 1) is that of the i-th of equal parts of `days` days."""

    title: str
    subtitle: str
    days: float
    lines: Sequence[tuple[str, Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Heat:
    """One panel of a matrix: a value for each row and column, and how many jobs it is made of; None for no jobs.

    `style` is that of the values; a duration is shown in one unit, and its colour goes by its logarithm. A cell of
    fewer jobs than `few` has no colour.
    """

    title: str
    subtitle: str
    row_axis: str
    column_axis: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    counts: Sequence[Sequence[int]]
    style: Style = "duration"
    few: int = 1


@dataclass(frozen=True, slots=True)
class Trend:
    """One panel of values over calendar time. `edges` are epoch seconds; the i-th value of a line, None for unknown, is
    of the time from the i-th edge to the next. `marks` are named moments. Three lines at most.
    """

    title: str
    subtitle: str
    edges: Sequence[int]
    lines: Sequence[tuple[str, Sequence[float | None]]]
    unit: Literal["share", "count", "hours", "ratio"]
    marks: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True)
class Dot:
    """A named point of a Scatter; one on the `edge` has none that is better in both directions."""

    name: str
    x: float
    y: float
    edge: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """One panel of points in lines by name, five at most; `styles` are those of x and y."""

    title: str
    subtitle: str
    x_axis: str
    y_axis: str
    lines: Sequence[tuple[str, Sequence[Dot]]]
    styles: tuple[Style, Style] = ("quantity", "quantity")


Panel = Curves | Boxes | Bars | Series | Heat | Trend | Scatter


@dataclass(frozen=True, slots=True)
class Pictures:
    """What a report shows besides its table. `title` says the finding, `caption` how to read the panels."""

    title: str
    caption: str
    panels: Sequence[Panel]


T = TypeVar("T")


def in_language(shown: T, language: str) -> T:
    """A picture, or what it is made of, with every sentence of it in that language."""
    if language == "en":
        return shown
    if isinstance(shown, str):
        return cast(T, translated(shown, language))
    if isinstance(shown, (list, tuple)):
        return cast(T, [in_language(one, language) for one in shown])
    if is_dataclass(shown) and not isinstance(shown, type):
        return replace(shown, **{one.name: in_language(getattr(shown, one.name), language) for one in fields(shown)})
    return shown


@dataclass(frozen=True, slots=True)
class Report:
    """`rows` carry one value per field, in their order; `totals` are rows set apart below them.

    `extra` is what JSON has besides: lists of plain objects, by name.
    """

    meta: Meta
    fields: Sequence[Field]
    rows: Sequence[Sequence[Cell]]
    totals: Sequence[Sequence[Cell]] = ()
    pictures: Pictures | None = field(default=None, compare=False)
    extra: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict, compare=False)

    def dated(self, as_of: int | None) -> Report:
        """The same report, whose header says that the trace is as it was then; None: as it is now."""
        return replace(self, meta=replace(self.meta, as_of=as_of))

    def noted(self, note: str) -> Report:
        """The same report with one more note."""
        return replace(self, meta=replace(self.meta, notes=[*self.meta.notes, note]))

    def only(self, columns: Sequence[str]) -> Report:
        """The same report with these columns, in this order; of `+name`, with its own columns and these. A measured
        value keeps its unit. UsageError for a column that the report does not have.
        """
        names = [one.name for one in self.fields]
        wanted = [one.removeprefix("+") for one in columns]
        for one in wanted:
            if one not in names:
                raise unknown_word("column", one, names)
        fields = [replace(one, quiet=False, data=False) if one.name in wanted else one for one in self.fields]
        if columns and columns[0].startswith("+"):
            return replace(self, fields=fields)
        places = list(dict.fromkeys(map(names.index, wanted)))
        if "unit" in names and any(fields[place].style == "measured" for place in places):
            places = list(dict.fromkeys([*places, names.index("unit")]))
        rows, totals = ([[row[place] for place in places] for row in part] for part in (self.rows, self.totals))
        return replace(self, fields=[fields[place] for place in places], rows=rows, totals=totals)

    def records(self) -> list[dict[str, Cell]]:
        """Every row, the totals last, keyed by field name."""
        names = [f.name for f in self.fields]
        return [dict(zip(names, row, strict=True)) for row in (*self.rows, *self.totals)]

    def to_frame(self, *, totals: bool = False) -> pandas.DataFrame:
        """The rows as a DataFrame with a column per field; render/frame.py has the dtypes.

        `totals` adds the rows set apart below them. `attrs` has the units and the header.
        """
        from adminkit.render.frame import report_frame

        return report_frame(self, totals=totals)
