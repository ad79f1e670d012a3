"""The consensus SVM of paper 000: ADMM over rows or columns, whose every round opens an average or a sum.

In the order in which they import each other:

box_dual    a party's own dual
columns     ADMM over columns, and questions to its model
rows        ADMM over rows
model       a trained model over columns
estimator   ConsensusSVC
attacks     what averages and sums give away
"""

from tacit.papers.consensus.estimator import ConsensusSVC

__all__ = ["ConsensusSVC"]
