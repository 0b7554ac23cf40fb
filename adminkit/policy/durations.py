"""Durations in policy.toml: one reading for limits and for settings."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from adminkit.errors import AdminkitError
from adminkit.units import parse_duration

_HINT: Final = 'write units ("15m", "1h30m", "2d") or a clock ("02:00:00", "1-00:00:00")'


def seconds(value: Any) -> int:
    """Text -> seconds. A bare number is refused: sbatch takes it for minutes, the rest of adminkit for seconds."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError('write it as Slurm does, in quotes: "3-00:00:00", "02:00:00"')
    if isinstance(value, int) or value.strip().isdigit():
        raise ValueError(f'minutes or seconds? write "{value}m" or "{value}s"')
    try:
        return parse_duration(value, _HINT)
    except AdminkitError as error:
        raise ValueError(f"{error.message} ({error.hint})") from error


Seconds = Annotated[int, BeforeValidator(seconds)]
