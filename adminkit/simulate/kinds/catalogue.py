"""Every kind of scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adminkit.simulate.change import Kind
from adminkit.simulate.kinds import (
    checkpoint,
    estimates,
    extend,
    load,
    multi_node,
    nodes,
    points,
    policy,
    queue,
    scheduler,
    soft_limits,
)

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        estimates.KIND,
        extend.KIND,
        soft_limits.KIND,
        policy.KIND,
        points.KIND,
        checkpoint.KIND,
        queue.KIND,
        scheduler.KIND,
        nodes.KIND,
        load.KIND,
        multi_node.KIND,
    )
}
