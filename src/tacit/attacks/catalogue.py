"""All attacks of the package, each as a study: what an attacker finds out about the records at hand, by what it knows.

Every study plays the attack on the view that the protocol gives the attacker, with the rule that stops it and without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks import (
    atom_inversion,
    attribute_inference,
    bound_moments,
    elm_leverage,
    gram_studies,
    margin_tracking,
    membership_inference,
    method_studies,
    repeated_release,
    set_lattice,
)
from tacit.attacks.study import ERROR, Point, Points
from tacit.errors import LocalError

MANY = 400  # records of a study: attacks do not get better with more
SHARE = "share of the records"


@dataclass(frozen=True)
class Attack:
    """An attack: which estimators it is against, what its attacker knows, and what is measured.

    Of an error a small one is a success. `reads` names the facts that the attack starts from: who is told one of them
    can try it. `needs` says what else it takes, and `stopped` which rule of this version stops it, if one does;
    `accepted` says that a job which accepts the risk is without that rule. `finds`: "records", or "members", of whom
    the attacker has the records, or most of them, and learns that they were in the training.
    """

    name: str
    against: tuple[str, ...]
    shows: str
    knows: str
    measures: str
    study: Callable[[F64, I64], Points]
    reads: tuple[str, ...] = ()
    needs: str = ""
    stopped: str = ""
    accepted: bool = False
    finds: str = "records"

    def points(self, X: F64, y: I64) -> list[Point]:
        """Play the attack on standardised records of two classes, and return what came out."""
        rows = np.random.default_rng(0).permutation(len(X))[:MANY]
        spread = X.std(axis=0)
        kept = X[:, spread > 0]
        if kept.shape[1] < 2 or len(rows) < 4 * kept.shape[1]:  # noqa: PLR2004 - one column has nothing to mix
            raise LocalError(
                f"{len(rows)} records of {kept.shape[1]} columns that vary are too few to study {self.name}: give at"
                " least two columns, and four records for each"
            )
        return list(self.study(((kept - kept.mean(axis=0)) / kept.std(axis=0))[rows], y[rows]))


GRAM, PAN = ("GramSVC", "GramSVR"), ("PanSVC",)
ELM = ("SecureELMClassifier", "SecureELMRegressor")
SHIFT, CONSENSUS = ("ShiftSVC",), ("ConsensusSVC",)
PUBLIC = ("PanSVC", "SecureELMClassifier", "ConsensusSVC")
KNOWN = "known records"
AREA = "area under the curve; 0.5 is a guess"
# facts that give an attacker its view, by what they show
_GRAM_SEEN = ("gram.matrix", "gram.of_cells", "gram.dot_products")
_ASKED = ("answers.values", "gram.new_products")
_LANDMARKS = ("landmarks.means", "landmarks.local_means", "landmarks.joint_means", "landmarks.cell_sums")
_CUTS = ("planes.cut_sum", "witness.all_sums")
_LAYER = ("elm.layer", "elm.layer_if_known", "elm.new_layer")
_SHIFTED = ("shift.row_differences", "shift.rows_once_known", "shift.column_differences", "shift.column_once_known")
_MODELS = ("planes.iterates", "pan.iterates", "elm.model", "elm.output_weights", "consensus.model", "noisy.model")
_COLUMN_SUMS = ("consensus.column_space", "consensus.fold_sums", "consensus.gram_products")
ALL = (
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
        "landmark_exposure",
        PAN,
        "a landmark made of one record is that record",
        "landmarks, share of the rows",
        "share of the landmarks that are records",
        method_studies.landmark_exposure_study,
        reads=_LANDMARKS,
        stopped="min_cluster: no landmark is the mean of fewer records",
        accepted=True,
    ),
    Attack(
        "cluster_difference",
        PAN,
        "two sums of a cluster differ by the record that joined or left it",
        "rounds",
        SHARE,
        method_studies.cluster_difference_study,
        reads=_LANDMARKS,
        stopped="min_cluster, and sums over whole groups of rows",
        accepted=True,
    ),
    Attack(
        "few_violators",
        PAN,
        "two sums that differ by one row reveal that row",
        "C of the training",
        SHARE,
        method_studies.few_violators_study,
        reads=_CUTS,
        stopped="min_count: sums are over whole groups of rows",
        accepted=True,
    ),
    Attack(
        "chosen_iterate",
        PAN,
        "a coordinator that chooses the models isolates a row",
        "number of the trial",
        ERROR,
        method_studies.chosen_iterate_study,
        reads=_CUTS,
        needs="a coordinator that departs from the protocol",
        stopped="min_count: sums are over whole groups of rows",
        accepted=True,
    ),
    Attack(
        "set_lattice",
        PAN,
        "integer combinations of the sums give single records",
        "C of the training",
        SHARE,
        set_lattice.study,
        reads=_CUTS,
        stopped="min_count: sums are over whole groups of rows",
        accepted=True,
    ),
    Attack(
        "margin_tracking",
        PAN,
        "losses along lines give margins, and margins give the records",
        "columns",
        SHARE,
        margin_tracking.study,
        reads=_CUTS,
        stopped="min_count: no losses of single rows are opened",
        accepted=True,
    ),
    Attack(
        "atom_inversion",
        PAN,
        "a sum of few mapped rows gives the rows back",
        "features for each column",
        "share of what is found that are records",
        atom_inversion.study,
        reads=_CUTS,
        stopped="min_count: groups have more rows than the opened numbers can determine",
        accepted=True,
    ),
    Attack(
        "bound_moments",
        PAN,
        "many bounds on the loss of a group give its rows",
        "features of the map",
        "share of the rows of a group",
        bound_moments.study,
        reads=_CUTS,
        stopped="every party counts the bounds that it answers",
        accepted=True,
    ),
    Attack(
        "weak_seed",
        ("GramSVC", "PanSVC"),
        "masks from a 32-bit seed are found by trying all seeds",
        "bits tried",
        "1 if found",
        method_studies.weak_seed_study,
        reads=("sums.masked",),
        stopped="seeds have 256 bits",
    ),
    Attack(
        "bfv_noise",
        GRAM,
        "the noise of an unprotected reply gives the other side's matrix",
        "rows of the other side in a reply",
        "share of the entries",
        gram_studies.noise_study,
        reads=("product.masked", "cells.masked_products"),
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
        "elm_inversion",
        ELM,
        "known weights turn the hidden layer back into records",
        "nodes",
        ERROR,
        method_studies.elm_inversion_study,
        reads=_LAYER,
        needs="the weights, which a coordinator has with weights='master'",
    ),
    Attack(
        "elm_known_records",
        ELM,
        "known records give the private weights, and then all other records",
        KNOWN,
        ERROR,
        method_studies.elm_known_records_study,
        reads=_LAYER,
        needs="as many known records as there are columns",
    ),
    Attack(
        "elm_row_space",
        ELM,
        "a sum over fewer rows than nodes gives the rows away",
        "nodes",
        SHARE,
        method_studies.elm_row_space_study,
        reads=("elm.layer_sums", "elm.new_sums", "elm.fold_sums", "elm.class_sums"),
        stopped="a sum over fewer rows than nodes is not opened",
        accepted=True,
    ),
    Attack(
        "shift_one_record",
        SHIFT,
        "one known record gives the shift, and a few more give the rotation",
        KNOWN,
        ERROR,
        method_studies.shift_one_record_study,
        reads=_SHIFTED,
        needs="one known record",
    ),
    Attack(
        "shift_column_minimum",
        SHIFT,
        "known column minima give the shift",
        "records known",
        ERROR,
        method_studies.shift_column_minimum_study,
        reads=_SHIFTED,
        needs="the smallest value of every column",
    ),
    Attack(
        "shift_initiator",
        SHIFT,
        "the first party finds all shifts but one by comparing its two views",
        "records known",
        ERROR,
        method_studies.shift_initiator_study,
        reads=("shift.moved_table", "shift.all_rows"),
    ),
    Attack(
        "ica",
        SHIFT,
        "independent columns are found behind a rotation",
        "records known",
        ERROR,
        method_studies.ica_study,
        reads=_SHIFTED,
        needs="columns that do not depend on each other",
    ),
    Attack(
        "iterate_differencing",
        CONSENSUS,
        "weights of two rounds differ by the one record that moved",
        "parties",
        SHARE,
        method_studies.iterate_differencing_study,
        reads=("consensus.averages", "consensus.averages_and_distances"),
        stopped="parties' weights are summed securely",
    ),
    Attack(
        "two_party",
        CONSENSUS,
        "each of two parties can compute the other's weights",
        "parties",
        ERROR,
        method_studies.two_party_study,
        reads=("consensus.averages", "consensus.averages_and_distances"),
        needs="one other party only",
        stopped="a job of two parties is refused unless all of them allow it",
        accepted=True,
    ),
    Attack(
        "vertical_span",
        CONSENSUS,
        "the sums span the columns, and known records give all others",
        KNOWN,
        ERROR,
        method_studies.vertical_span_study,
        reads=_COLUMN_SUMS,
        needs="as many known records as there are columns",
    ),
    Attack(
        "vertical_modes",
        CONSENSUS,
        "many rounds of ADMM give a party's column without a known record",
        "rounds",
        ERROR,
        method_studies.vertical_modes_study,
        reads=("consensus.party_gram",),
        needs="a number as rho, and many rounds",
    ),
    Attack(
        "token_frequency",
        ("GramSVC",),
        "public statistics name the columns of method='intersection'",
        "records of a public sample",
        "share of the ones in their column",
        gram_studies.token_study,
        reads=("gram.binary_table", "gram.sets"),
        needs="public statistics of the columns",
    ),
    Attack(
        "membership_inference",
        PUBLIC,
        "a public model is surer about records that were in its training",
        "models that the attacker trains",
        AREA,
        membership_inference.study,
        reads=_MODELS,
        needs="a candidate record, and records like those of the training",
        finds="members",
    ),
    Attack(
        "attribute_inference",
        PUBLIC,
        "a public model is surest about a training record with its true value",
        "models that the attacker trains",
        "members guessed beyond others, share",
        attribute_inference.study,
        reads=_MODELS,
        needs="a record except for one value, and records like those of the training",
        finds="members",
    ),
    Attack(
        "elm_leverage",
        ELM,
        "a sum H'H tells whether a candidate is one of its rows",
        "nodes for each row",
        AREA,
        elm_leverage.study,
        reads=("elm.layer_sums", "elm.new_sums"),
        needs="a candidate record",
        finds="members",
    ),
    Attack(
        "repeated_release",
        PUBLIC,
        "two models, from before and after one record was added, reveal that record",
        "candidates",
        "share of the trials in which it is the first",
        repeated_release.study,
        reads=_MODELS,
        needs="two models, one trained with the record and one without it",
        finds="members",
    ),
)
ATTACKS = {attack.name: attack for attack in ALL}


def attack_of(name: str, estimator: str | None = None) -> Attack:
    """Return the attack of that name, if it is against that estimator."""
    if name not in ATTACKS:
        raise LocalError(f"unknown attack '{name}': use one of {', '.join(ATTACKS)}")
    found = ATTACKS[name]
    if estimator is not None and estimator not in found.against:
        fitting = _list_names([a.name for a in ATTACKS.values() if estimator in a.against])
        raise LocalError(
            f"{name} is against {_list_names(found.against)}, not '{estimator}': against that, use {fitting}"
        )
    return found


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
