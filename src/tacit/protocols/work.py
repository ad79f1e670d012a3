"""How much work the phases of a training are, for who waits: in nanoseconds of one core of a usual machine.

Counts of operations by the sizes that a run has published, times what such an operation was measured to take;
`benchmarks/progress.py` shows how far the times that follow are off. Nothing here changes what a run computes or sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.choreo.progress import Phase
from tacit.numeric.features.landmarks import FIRST, ITERATIONS, MANY

CLUSTERS, MAP, SOLVER, SELECTION = "k-means", "map", "solver", "selection"
GRAM, PRODUCTS, REPLIES, SCORES = "gram matrix", "products of cells", "replies", "scores"
LAYER, OUTPUT, SUM = "hidden layer", "output weights", "sum"

USUAL, WAVY = 40, 47  # rounds of cutting planes over groups, and over groups of Fourier features
CONVERGING = 40  # of a solver that ends where its gap is small
MATRIX = 0.17  # of the scores of one kernel: its matrix
LONE = 0.75  # of a hidden layer: finding the nodes that few rows reach

# what one of these takes
ROUND = 1.5e6  # the messages of a party in a round
CALL = 1e5  # a step of a party for one problem
LANDMARK = 1e6  # choosing one, merging and cutting what is too small or too large
MULTIPLY = 0.02  # a multiplication in a product of matrices
EACH = 4.0  # a step over an entry of an array
KERNEL = 10.0  # a value of a kernel function
OWN = 18.0  # the same in a large matrix that a holder keeps
WAVE = 26.0  # a Fourier feature
FEATURE = 1.7  # reading a feature of a row, in a round
MARGIN = 110.0  # sorting, bounding and moving a row of a problem, in a round
WORD, MASK = 1.5, 2.6  # a word of a sum, and its mask for each peer
ADDED = 12.0  # reading a word of a sum that is open, beside adding that of each party
DOT, CROSSED = 8.0, 30.0  # a party's own part of an entry of a gram matrix, of its columns or of single cells
CELL = 30.0  # a product of two cells under encryption
MEDIAN = 50.0  # a value of which a median is sought
PIVOT, VISITED = 2e-3, 14.0  # an entry of a kernel matrix for each of its records, in a solver of the dual, and at most
SHARED, SQUARED = 0.32, 0.083  # a byte of shares that a party sends or receives; a multiplication of their matrices
DUAL = 3.8  # an entry of a holder's own kernel matrix, in a round of a consensus
FLAT = 175.0  # a cell of a holder's own rows, in a round of a consensus without a kernel


def cluster_work(rows: int, count: int, columns: int, groups: int) -> Phase:
    """Return the work of `count` landmarks: two clusterings of the rows of each of so many groups.

    Where rows are many, one of the two ends early.
    """
    pairs, iterations = rows * count / groups, ITERATIONS + (FIRST if rows > MANY * groups else ITERATIONS)
    return Phase(CLUSTERS, holders=iterations * EACH * (pairs + rows * columns) + LANDMARK * count)


def joint_work(rows: int, columns: int) -> Phase:
    """Return the work of landmarks by one clustering of all rows: fifteen rounds of sums over cells."""
    return Phase(CLUSTERS, holders=15 * EACH * rows * columns, messages=15 * ROUND)


def map_work(rows: int, count: int, columns: int, *, kernels: int = 1, waves: bool = False) -> Phase:
    """Return the work of mapping the rows by `count` features for each kernel; 0 of them: the columns themselves."""
    each = WAVE if waves else KERNEL + MULTIPLY * (columns + count)
    return Phase(MAP, holders=kernels * rows * count * each + EACH * rows * columns)


def planes_work(
    rows: int, width: int, pools: int, parties: int, *, kernels: int = 1, prices: int = 1, waves: bool = False
) -> Phase:
    """Return the work of cutting planes for so many problems at once, with so many kernels and prices."""
    rounds = usual_rounds(prices, waves=waves)
    return Phase(
        SOLVER,
        holders=rounds * (rows * (kernels * FEATURE * width + pools * MARGIN) + parties * (pools - 1) * CALL),
        coordinator=rounds * 4 * pools * CALL,
        messages=rounds * parties * (ROUND + 3 * CALL),
    )


def usual_rounds(prices: int = 1, *, waves: bool = False) -> int:
    """Return how many rounds cutting planes take at so many prices, each of which begins with the cuts of the last."""
    return (WAVY if waves else USUAL) * (1 + prices) // 2


def selection_work(rows: int, drops: int) -> Phase:
    """Return the work of dropping features so many times, each time with a few trainings."""
    return Phase(SELECTION, holders=5 * drops * USUAL * rows * MARGIN, messages=5 * drops * USUAL * ROUND)


def count_left(columns: int, drops: Sequence[int]) -> list[int]:
    """Return how many features each round of a selection begins with, to which its work is in proportion."""
    return [columns - sum(drops[:t]) for t in range(len(drops))]


def gram_work(records: int, parties: int, each: float = DOT) -> Phase:
    """Return the work of a gram matrix that is summed under masks, of which an entry takes each party so much."""
    entries = records * records // 2
    own = mask_work(entries, parties).holders + entries * parties * each
    return Phase(GRAM, holders=own, coordinator=entries * (ADDED + parties))


def mask_work(words: int, parties: int) -> Phase:
    """Return the work of a sum of so many words of each party under masks, one for each two of them."""
    return Phase(SUM, holders=words * parties * (WORD + MASK * (parties - 1)))


def crossed_phases(records: int, columns: int, parties: int) -> tuple[Phase, ...]:
    """Return the phases of a gram matrix of cells that different parties own."""
    crossed = CELL * records * records * columns * (parties - 1)
    bands = gram_work(records, parties, CROSSED)
    return Phase(PRODUCTS, holders=crossed), Phase(REPLIES, holders=0.2 * crossed), bands


def dual_phases(records: int, classes: int, scored: float) -> tuple[Phase, ...]:
    """Return the phases of solving all problems on a kernel matrix, after scores that are worth so many trainings."""
    pivots = min(PIVOT * records, VISITED) * (classes if classes > 2 else 1)  # noqa: PLR2004 - two classes are one problem
    entries = records * records
    scores = Phase(SCORES, coordinator=scored * entries * (EACH + 0.8 * pivots))
    return (*((scores,) if scored else ()), Phase(SOLVER, coordinator=entries * (KERNEL + pivots)))


def count_trainings(cv: int, schedule: Sequence[tuple[int, float]]) -> float:
    """Return how many trainings on all records those of a search are worth, on a share of them in each stage."""
    return sum(candidates * cv * ((1.0 - 1.0 / cv) * share) ** 2 for candidates, share in schedule)


def layer_phases(rows: int, nodes: int, columns: int) -> tuple[Phase, ...]:
    """Return the phases of a machine with a hidden layer: its sums, and the output weights from them."""
    sums = rows * nodes * (MEDIAN + MULTIPLY * (columns + nodes))
    return Phase(LAYER, holders=sums), Phase(OUTPUT, coordinator=nodes**3)


def consensus_phases(
    rows: int, width: int, columns: int, problems: int, parties: int, *, bent: bool
) -> tuple[Phase, ...]:
    """Return the phases of a consensus over rows; with a kernel every holder works on that of its own rows."""
    rounds, entries = consensus_rounds(parties), rows * rows / parties
    each = entries * DUAL if bent else rows * columns * FLAT
    solver = Phase(SOLVER, holders=rounds * problems * each, messages=rounds * parties * ROUND)
    if not bent:
        return map_work(rows, 0, columns), solver
    return cluster_work(rows, width, columns, parties), Phase(MAP, holders=entries * OWN), solver


def consensus_rounds(parties: int) -> int:
    """Return how many rounds a consensus over rows takes, in which more parties are longer apart."""
    return 42 + 4 * parties
