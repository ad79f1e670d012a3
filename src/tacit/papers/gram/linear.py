"""Linear prediction with w in shares: the decision values of new records, which only those see who ask for them.

The problem. Holder p has cells Z_p of N new records, zero elsewhere, of any partition, and a share W_p of the weights
and biases of k problems (`weights`). The values

    Z w' + b = sum_p Z_p sum_q w_q' + sum_q b_q                                                                      (1)

shall be learnt by the asker, or by rows by every holder for its own records, and nothing else by anybody. Z_p w_p' is
p's own work. w_q Z_p' is a product of two parties, q's upload and p's answer, and ends in shares (`cell_products`): S.
q's share of w is any element of Z_2^k, as uniform numbers are, which costs an upload nothing: products are modulo 2^k,
and their sum is small again.

    F_p = S_p + W_p Z_p' + 2^h b_p,         sum_p F_p = 2^(f+g) (Z w' + b)'       (mod 2^k)                          (2)

Cells have g = b - e' fraction bits and w has f, where 2^e' is a power of two that no cell of support vectors and new
records exceeds, and (n + 1) 2^2b < 2^(k-1), so that (2) is exact for n columns. The biases are coarser by h = b - 6 -
(e' - e) bits. The sums of (2) are masked pairwise (`secure_sum`), and by rows each holder receives those of its own
records only:

    p >> q      F_p of q's records, under pads that cancel in the sum over all p                                     (3)

A value is off by at most |w|_1 2^(e'-b-1), beside what w itself is off (`weights`, (7)).

Roles. Holder: cells of new records, and a share of w. Asker: one of them, is told the values; by rows every holder is,
of its own records. Threat. Semi-honest. A coalition without those who ask learns nothing; with them, the values, as
`secure_sum` says. The coordinator takes no part, and reads what everybody reads: who owns which cell of the new
records, and e' where it is not declared. Records within the range of the support vectors do not show in e'; of others
the asker, to whom its marks are added up, knows how far those beside its own go. Not protected: values tell what they
tell. n + 1 of them for records of one's choice are w and b (`attacks.unit_queries`), hence quotas.

Source: 001 section 3.3 shows all coefficients to all parties; shares of w instead are ours.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import Asker, At, Each, Fact, Holder, Message, Pads, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.integers import Cells
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.words import Ring
from tacit.numeric.svm.kernels import OVR
from tacit.papers.columns import append
from tacit.papers.facts import DECISION_VALUES
from tacit.papers.gram.cell_products import PRODUCT_SHARES, Scheme, cell_products
from tacit.papers.gram.cells import ANSWERS_OF_OWN, Products, check_cells, check_declared_records, check_way
from tacit.papers.gram.crossing import dots_crossing
from tacit.papers.gram.train import SupportColumns
from tacit.papers.gram.weights import FINER, WeightShare, answer_cells
from tacit.papers.machine import value_classes
from tacit.protocols.blind.owners import agreed_range, ownership
from tacit.protocols.part import Held, Table
from tacit.protocols.sums.secure_sum import Masked, Protection, add_masked, mask, open_added, protect, secure_sum

AT_ONCE = 1 << 20  # cells of new records, of up to 28 bits: what one flood of the engine `bfv` covers


class OwnMasked(
    Message,
    tells=Fact(
        "gram.masked_answers",
        "nobody",
        "nothing",
        "none",
        "nothing alone: values of the receiver's own records, under pads that cancel only in the sum over all holders",
    ),
    ragged=True,
):
    """The sender's part F_p of the receiver's own records, under pads, (3)."""

    words: U64
    shape: tuple[int, ...]


@choreography(
    opens={
        Asker: (
            DECISION_VALUES,
            ANSWERS_OF_OWN,
            Fact(
                "gram.exceeded_range",
                "holders",
                "aggregate",
                "all",
                "how far the others' cells exceed the range of the support vectors, unless one was declared",
            ),
        ),
        Holder: (
            Fact("gram.new_cells", "holder", "membership", "cell", "who owns which cells of the new records"),
            Fact(
                "gram.new_range",
                "holders",
                "aggregate",
                "all",
                "the smallest power of two that no cell of these and the support vectors exceeds",
            ),
        ),
    }
)
def gram_linear_predict(
    run: Run,
    data: At[Held],
    weights: At[WeightShare],
    *,
    partition: str,
    problems: int,
    multiply: Products,
    multi_class: str = OVR,
    records: int | None = None,
) -> At[F64]:
    """Return the decision values of all classes for new records, at the asker, or by rows at their holders.

    With multi_class="ovo" these are votes over the values of all pairs, which are there too.
    """
    me, declared = run.who(Holder), multiply.feature_range
    run.local(Holder, check_way, data, "product", multiply, me)
    run.local(Holder, check_cells, data, declared, None, me)
    new, by = ownership(run, data, partition), protect(run)
    check_declared_records(new, records)
    exponent = agreed_range(run, [data, run.local(Holder, mark_range, weights)], declared, by, to=Asker)
    cells = answer_cells(exponent, new.shape[1])
    ring = Ring(1 << cells.ring_bits)
    run.local(Holder, check_share, weights, cells, problems, me)
    Z, W = run.local(Holder, spread_out, data, cells, new, me), run.local(Holder, factors, weights)
    scheme = Scheme(multiply.engine, cells, multiply.key_bits, uploads=ring.modulus)
    share = products(run, W, Z, problems=problems, new=new, scheme=scheme)
    part = run.local(Holder, part_of, Z, weights, share, cells, new, me)
    if partition != "horizontal":
        total = secure_sum(run, part, to=Asker, by=by, what="decision values", ring=ring)
        return run.local(Asker, values_of, total, weights, cells, ring, multi_class)
    own = own_sums(run, part, new=new, by=by, ring=ring)
    return run.local(Holder, values_of, own, weights, cells, ring, multi_class)


@choreography(opens={Holder: PRODUCT_SHARES})
def products(run: Run, W: At[I64], Z: At[I64], *, problems: int, new: Owners, scheme: Scheme) -> At[U64]:
    """Return everyone's share S of (2), some records at a time."""
    cuts, s = batches(*new.shape), run.carry(shares=run.local(Holder, tuple))
    for t in run.rounds(len(cuts), s):
        some = run.local(Holder, cut_rows, Z, new, *cuts[t], run.who(Holder))
        crossing = dots_crossing(give_to_all((problems, new.shape[1]), new), fill_rows(new, *cuts[t]))
        s.shares = run.local(Holder, append, s.shares, cell_products(run, W, some, crossing=crossing, scheme=scheme))
    return run.local(Holder, np.concatenate, s.shares, axis=1)


@choreography(
    opens={
        Holder: Fact(
            "gram.own_sums", "reader", "answer", "record", "the sums over all holders that belong to its own records"
        )
    }
)
def own_sums(run: Run, part: At[U64], *, new: Owners, by: Protection, ring: Ring) -> At[U64]:
    """Send (3), and return the sum at each holder."""
    pads = [run.pads(by.seeds, run.tag()) for _ in new.rows]
    masked = run.local(Holder, mask_each, part, new, run.who(Holder), ring, *pads)
    received = run.send(OwnMasked, Holder >> Holder, masked)
    return run.local(Holder, add_own, received, masked, run.who(Holder), ring)


# Who multiplies what


def give_to_all(shape: tuple[int, int], like: Owners) -> Owners:
    """Return the owners of a table of which everybody has an entry everywhere: a share of it."""
    rows, columns, mask = np.arange(shape[0]), np.arange(shape[1]), np.ones(shape, np.bool_)
    names = like.rows
    return Owners(shape, dict.fromkeys(names, rows), dict.fromkeys(names, columns), dict.fromkeys(names, mask))


def batches(records: int, columns: int) -> list[tuple[int, int]]:
    """Return where each batch of records begins and ends."""
    size = max(1, AT_ONCE // max(1, columns))
    return [(start, min(start + size, records)) for start in range(0, max(1, records), size)]


def fill_rows(owners: Owners, start: int = 0, stop: int | None = None) -> Owners:
    """Return the owners of some rows, each of which has all columns, with zeros in cells of others.

    All columns of a share then fit into few ciphertexts.
    """
    stop = owners.shape[0] if stop is None else stop
    rows = {p: of[(of >= start) & (of < stop)] - start for p, of in owners.rows.items()}
    columns = np.arange(owners.shape[1])
    masks = {p: np.full((len(rows[p]), len(columns)), mask.any()) for p, mask in owners.masks.items()}
    return Owners((stop - start, len(columns)), rows, dict.fromkeys(rows, columns), masks)


# Steps at the holders


def mark_range(weights: WeightShare) -> SupportColumns:
    """Return a cell as large as those of the support vectors can be."""
    return SupportColumns(np.full((1, 1), 2.0**weights.exponent))


def check_share(weights: WeightShare, cells: Cells, problems: int, me: str) -> None:
    """Refuse a share that is not of this model, and new records too far from it."""
    if weights.words.shape != (problems, cells.terms):
        raise LocalError(
            f"the share of w of {me} is for {weights.words.shape[0]} problems of {weights.words.shape[1] - 1} columns,"
            f" not {problems} of {cells.terms - 1}: give records like those of the training"
        )
    if not 0 <= cells.exponent - weights.exponent <= cells.bits - FINER:
        raise LocalError(
            f"new records of up to {2.0**cells.exponent:.3g} do not go with support vectors of up to"
            f" {2.0**weights.exponent:.3g}: ask about records up to {2 ** (cells.bits - FINER)} times as large, in the"
            " range of the training"
        )


def spread_out(part: Table, cells: Cells, new: Owners, me: str) -> I64:
    """Return the holder's rows in fixed point, with all columns."""
    table = np.zeros((len(new.rows[me]), new.shape[1]), np.int64)
    table[:, new.columns[me]] = cells.encode(part.X, f"cells of {me}")
    return table


def cut_rows(Z: I64, new: Owners, start: int, stop: int, me: str) -> I64:
    """Return the holder's rows among those from `start` to `stop`."""
    first, last = np.searchsorted(new.rows[me], [start, stop])
    return Z[first:last]


def factors(weights: WeightShare) -> I64:
    """Return w_p, without b_p."""
    return weights.words[:, :-1].astype(np.int64)


def part_of(Z: I64, weights: WeightShare, share: U64, cells: Cells, new: Owners, me: str) -> U64:
    """Return F_p of (2)."""
    shift = cells.bits - FINER - (cells.exponent - weights.exponent)
    found = share + (weights.words[:, -1:] << np.uint64(shift))
    found[:, new.rows[me]] += weights.words[:, :-1] @ Z.astype(np.uint64).T  # modulo 2^64, and so modulo 2^k
    return np.remainder(found, np.uint64(1 << cells.ring_bits))


def values_of(total: U64, weights: WeightShare, cells: Cells, ring: Ring, multi_class: str) -> F64:
    """Return the values (1) of all problems as those of the classes."""
    bits = weights.fraction_bits + cells.bits - cells.exponent
    values = np.ldexp(ring.centred(total).astype(np.float64), -bits).T
    return value_classes(np.ascontiguousarray(values), multi_class)


def mask_each(part: U64, new: Owners, me: str, ring: Ring, *pads: Pads) -> Each:
    """Return (3): the part of every holder's own records, under pads."""
    found = {}
    for (party, rows), own in zip(new.rows.items(), pads, strict=True):
        masked = mask(np.ascontiguousarray(part[:, rows]), own, me, None, "decision values", ring)
        found[party] = OwnMasked(masked.words, masked.shape)
    return Each(found)


def add_own(received: Mapping[str, OwnMasked], masked: Mapping[str, OwnMasked], me: str, ring: Ring) -> U64:
    """Return the sum over all holders, with what the holder kept."""
    everybody = {**received, me: masked[me]}
    return np.asarray(open_added(add_masked((Masked(m.words, m.shape) for m in everybody.values()), ring), None))
