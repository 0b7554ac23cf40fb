"""SQL of whole numbers over the view run: sums of them depend on neither the order of rows nor the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adminkit.trace.columns import Texts
from adminkit.trace.run_view import TOO_LONG

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A larger number of GPUs or CPUs is nonsense, and unknown. The product with a run time has at most 60 bits.
MOST: Final = 4_000_000_000
#: Parts of a GPU that GPUs and GPU-seconds are told in: sevenths (MIG), 32nds (shards), hundredths (MPS), and a half, a
#: third … a tenth are whole numbers of them. With more parts, the runs of the largest machines would pass 63 bits.
GPU_PARTS: Final = 50_400
#: Parts of one that a ratio is told in: a power of ten keeps ratios such as 0.1 as they are.
UNIT: Final = 10**12
#: elapsed / req_limit, in two numbers for ratios(): whole ones, and parts of one. 0 or NULL where either is unknown.
RATIO: Final = (
    "elapsed / req_limit",
    f"CAST(round(elapsed % req_limit * 1.0 / req_limit * {float(UNIT)}) AS BIGINT)",
)
#: month() gives this number and larger ones where it counts days instead of months.
_OTHER: Final = 100_000


def month(at: str) -> str:
    """The month of UTC of a moment, a number for months(); NULL for an unknown one.

    Until 2100-02-28, days are counted from 1968-03-01, the first of four years with a leap day at their end. These are
    1461 days, and five months from March are 153 days.
    """
    days = f"({at} / 86400 + 671)"
    years = f"((4 * {days} + 3) / 1461)"
    return f"""CASE WHEN {at} BETWEEN 0 AND 4107542399
            THEN 12 * {years} + (5 * ({days} - 1461 * {years} / 4) + 2) / 153
        WHEN {at} BETWEEN -62167219200 AND 253402300799 THEN {_OTHER} + ({at} + 62167219200) / 86400 END"""


def seconds(size: str, of: str = "elapsed") -> str:
    """`of`, seconds, times a size, for in_seconds(); 0 or NULL where either is unknown."""
    product = f"CAST(round({of} * {size} * {GPU_PARTS}) AS BIGINT)" if size == "size_gpus" else f"{of} * {size}"
    return f"CASE WHEN {of} BETWEEN 0 AND {TOO_LONG - 1} AND {_known(size)} THEN {product} ELSE 0 END"


def in_seconds(size: str, sums: NDArray[Any]) -> NDArray[Any]:
    """Sums of seconds(), in seconds: those of GPUs, of which a run may have a slice, are told in parts."""
    return sums / GPU_PARTS if size == "size_gpus" else sums


def unknown(size: str, yes: int = 1) -> str:
    """1 (`yes`) where the size is unknown, else 0."""
    return f"CASE WHEN {_known(size)} THEN 0 ELSE {yes} END"


def _known(size: str) -> str:
    return f"{size} BETWEEN 0 AND {MOST // (GPU_PARTS if size == 'size_gpus' else 1)}"


def ratios(whole: NDArray[Any], parts: NDArray[Any]) -> list[float]:
    """The sums of ratios, from those of the two numbers of RATIO."""
    return [(ones * UNIT + part) / UNIT for ones, part in zip(whole.tolist(), parts.tolist(), strict=True)]


def months(numbers: NDArray[Any]) -> Texts:
    """The months, such as 2026-01, that the numbers of month() stand for; None for an unknown one."""
    import numpy as np

    found, codes = np.unique(numbers, return_inverse=True)
    return Texts(codes.astype(np.int32), [None if one != one else _month(int(one)) for one in found.tolist()])


def _month(number: int) -> str:
    import numpy as np

    if number < _OTHER:
        return str(np.datetime64("1968-03", "M") + number)
    return str((np.datetime64("0000-01-01", "D") + (number - _OTHER)).astype("M8[M]"))
