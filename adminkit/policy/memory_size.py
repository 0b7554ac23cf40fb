"""Memory in policy.toml."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from adminkit.errors import UsageError
from adminkit.fit.request import parse_mem


def _memory(value: Any) -> int:
    """64G, 500M or 500 (MiB) -> MiB."""
    try:
        size = parse_mem(str(value)) if type(value) in (int, str) else 0
    except UsageError as error:
        raise ValueError(error.hint) from error
    if not 0 < size < 1 << 50:
        raise ValueError('write memory as sbatch accepts it: "64G"')
    return size >> 20


Memory = Annotated[int, BeforeValidator(_memory)]
