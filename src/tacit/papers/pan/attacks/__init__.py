"""What PAN-SVM gives away, as working code: the attacks that entry points of the group `tacit.attacks` name."""

from __future__ import annotations

from tacit.attacks.learners import ERROR, Attack
from tacit.papers.pan.attacks import chosen_iterate, few_violators, landmark_exposure

AGAINST = ("PanSVC", "VotedWrapperSelector", "FilterWrapperSelector")
SHARE = "share of the records"
CUTS = ("pan_svm.cut_sums",)

FEW_VIOLATORS = Attack(
    "pan_few_violators",
    AGAINST,
    "two sums of rows within the margin that differ by one row reveal that row",
    "C of the training",
    SHARE,
    few_violators.study,
    reads=(*CUTS, "pan_select.margin_sums"),
)
CHOSEN_ITERATE = Attack(
    "pan_chosen_iterate",
    AGAINST,
    "a coordinator that chooses the models isolates a row",
    "number of the trial",
    ERROR,
    chosen_iterate.study,
    reads=CUTS,
    needs="a coordinator that departs from the protocol",
)
LANDMARK_EXPOSURE = Attack(
    "pan_landmark_exposure",
    AGAINST,
    "a landmark that is the centre of one record is that record",
    "landmarks, share of the records",
    "share of the landmarks that are records",
    landmark_exposure.study,
    reads=("pan_svm.landmarks",),
)
ATTACKS = (FEW_VIOLATORS, CHOSEN_ITERATE, LANDMARK_EXPOSURE)
