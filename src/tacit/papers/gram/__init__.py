"""The gram SVM of paper 001: the pooled SVM from a gram matrix of which everybody computes a part.

In the order in which they import each other:

train            from a gram matrix to a model in shares
vertical         columns: secure sums
engines          homomorphic encryption: BFV, Paillier
secure_product   products of two parties in shares
cell_products    products of all pairs of parties
algorithm1       Algorithm 1, cell by cell
intersection     zeros and ones, by set intersections
cells            ways to multiply, and what they refuse
arbitrary        rows, and cells with owners of their own
weights, linear  private prediction with w in shares
cost, declared   as jobs name them, and what they cost
model, estimator the model, and GramSVC
attacks          what gram matrices, answers and products give away
"""

from tacit.papers.gram.estimator import GramSVC

__all__ = ["GramSVC"]
