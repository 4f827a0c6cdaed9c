# SPDX-License-Identifier: BSD-3-Clause
"""What a model knows of the caches of a job."""
import dataclasses


@dataclasses.dataclass
class Cached:
    """A version in the cache of a job. spreads: where its shares may be, all of them; lost: nodes that were lost
    since; begun: checkpoints begun since, each of which may have taken a place."""
    spreads: list
    lost: set
    begun: int = 0


def sets_of(spread, least=1):
    """par/redundancy/sets.h: ranks node by node, dealt to so many sets, or as many as the largest node has ranks."""
    nodes = list(dict.fromkeys(spread))
    order = [r for n in nodes for r in range(len(spread)) if spread[r] == n]
    count = max(least, *(spread.count(n) for n in nodes))
    return [order[i::count] for i in range(count)]
