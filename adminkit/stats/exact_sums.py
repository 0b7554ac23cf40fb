"""Sums of floats that do not depend on the order in which these are added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adminkit.stats.grouped import blocks
from adminkit.stats.taken import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Bits of a sum, without its sign.
_BITS: Final = 62


def exact_sums(number: NDArray[Any], groups: int, values: NDArray[Any]) -> NDArray[Any]:
    """The sum of the values of each group, float64; NaN is left out.

    Values are rounded to whole multiples of a power of two, so small that the sum of them all still has 62 bits: then
    they add up without a further rounding. A value is off by half of that at most, as in a sum of 62 bits.
    """
    import numpy as np

    most = float(np.nanmax(np.abs(values), initial=0.0)) if len(values) else 0.0
    if not 0 < most < np.inf:
        return np.zeros(groups)
    bits = _BITS - int(np.frexp(most)[1]) - len(values).bit_length()
    found = np.zeros(groups, np.int64)
    for block in blocks(len(values)):
        found += total(number[block], groups, np.rint(np.ldexp(np.nan_to_num(values[block]), bits)))
    return np.ldexp(found.astype(np.float64), -bits)
