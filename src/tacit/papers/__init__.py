"""The methods of papers, one folder a paper: protocols, estimators and attacks, in the paper's own form.

They reach the rest of `tacit` only by entry points, as the package of anybody else does, and nothing of it imports
them. What they give away stands in each module; a job between organisations that names one has to accept the risk.
"""
