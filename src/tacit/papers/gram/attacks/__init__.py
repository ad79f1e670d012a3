"""What a gram matrix, answers about new records, and products give away, as working attacks."""

from __future__ import annotations

from tacit.attacks.learners import ERROR, Attack
from tacit.papers.gram.attacks import gram_studies

GRAM = ("GramSVC",)
KNOWN = "known records"
_GRAM_SEEN = ("gram.matrix", "gram.of_cells", "gram.dot_products")
_ASKED = ("answers.values", "gram.new_products")
ATTACKS = (
    Attack(
        "gram_inversion",
        GRAM,
        "a gram matrix and known records give all others",
        KNOWN,
        ERROR,
        gram_studies.inversion_study,
        reads=_GRAM_SEEN,
        needs="as many known records as there are columns",
    ),
    Attack(
        "known_column",
        GRAM,
        "a gram matrix and known values of one column give all its others",
        "known values",
        "relative error, up to the sign of what no known value tells",
        gram_studies.column_study,
        reads=_GRAM_SEEN,
        needs="as many known values of a column as there are columns",
    ),
    Attack(
        "rbf_trilateration",
        GRAM,
        "an RBF kernel matrix and known records give all others",
        KNOWN,
        ERROR,
        gram_studies.trilateration_study,
        reads=_GRAM_SEEN,
        needs="one known record more than there are columns",
    ),
    Attack(
        "one_hidden_column",
        GRAM,
        "a gram matrix and all columns but one give that one",
        KNOWN,
        "relative error, up to signs of columns",
        gram_studies.hidden_study,
        reads=_GRAM_SEEN,
        needs="the columns of all holders but one, and a single column there",
    ),
    Attack(
        "empty_holders",
        GRAM,
        "if other holders bring no column, the coordinator sees the only column",
        "columns of the others",
        "relative error, up to the sign",
        gram_studies.empty_study,
        reads=_GRAM_SEEN,
        stopped="a job whose holder brings no column is refused",
    ),
    Attack(
        "unit_queries",
        GRAM,
        "chosen questions give the model, or its support vectors",
        "questions",
        ERROR,
        gram_studies.unit_study,
        reads=_ASKED,
        needs="as many questions as there are columns",
        stopped="a quota of questions",
    ),
    Attack(
        "far_queries",
        GRAM,
        "answers about far records give an outlying support vector",
        "depth: gamma times squared distance",
        ERROR,
        gram_studies.far_study,
        reads=_ASKED,
        needs="questions about far records, and a record that lies apart",
        stopped="a quota of questions",
    ),
    Attack(
        "bfv_noise",
        GRAM,
        "the noise of an unprotected reply gives the other side's matrix",
        "rows of the other side in a reply",
        "share of the entries",
        gram_studies.noise_study,
        reads=("product.masked",),
        stopped="replies get extra noise and are encrypted again",
    ),
    Attack(
        "small_exponent",
        GRAM,
        "a power of the attacker's own ciphertext gives the exponent away",
        KNOWN,
        ERROR,
        gram_studies.exponent_study,
        reads=("gram.encrypted_products",),
        stopped="powers are encrypted again",
    ),
    Attack(
        "token_frequency",
        GRAM,
        "public statistics name the columns of method='intersection'",
        "records of a public sample",
        "share of the ones in their column",
        gram_studies.token_study,
        reads=("gram.binary_table", "gram.sets"),
        needs="public statistics of the columns",
    ),
)
