"""The shared-shift SVM of paper 002, with two hardened variants.

formulas   shifts and rotations of a table, and the paper's Table 1
ring       rows: Algorithms 1 and 2
vertical   columns: Algorithm 3
secret     a shift that the coordinator knows no part of
model, estimator   the model, and ShiftSVC
attacks    what moved records give away
"""

from tacit.papers.shift.estimator import ShiftSVC

__all__ = ["ShiftSVC"]
