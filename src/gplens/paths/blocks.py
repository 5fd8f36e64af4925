"""Blocks of rows: one size, and one estimate of what a row costs.

Results do not depend on the blocks, which bound the memory of temporaries and keep them small enough for the caches.
"""

from gplens.processes.process import Process

BLOCK = 2**25
"""Bytes of the temporaries of a block. Recipe: benchmarks/blocks.py prints the time for several sizes."""
HELD = 6
"""Numbers held at once for each unit of the `width` of a process: distances, k, its slope, and products of them."""
SUMS = 10
"""Numbers that a path holds for each feature and output: x - x0, the sums of two rules, and finished results."""
NODES = 48
"""Numbers that the nodes of a path and their weights take: three for each of sixteen nodes."""


def rows_in_a_block(numbers: int) -> int:
    """The number of rows that fit into a block, at least one, if each takes so many float64 numbers."""
    return max(1, BLOCK // (8 * numbers))


def numbers_on_a_line(process: Process, nodes: int, channels: int) -> int:
    """Numbers that one line holds while its marginals are evaluated and `channels` of weights are pulled back."""
    return HELD * nodes * process.width + channels * (process.width + 2 * process.features)


def numbers_on_pairs(process: Process, nodes: int) -> int:
    """Numbers that one line holds while covariances between all pairs of its nodes are evaluated."""
    return nodes * numbers_on_a_line(process, nodes, 1) + 8 * nodes**2 * process.features


def numbers_of_a_path(features: int, outputs: int) -> int:
    """Numbers that the integral over one path holds, whatever the process."""
    return SUMS * features * outputs + NODES
