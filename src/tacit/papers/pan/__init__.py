"""PAN-SVM of paper 004: landmarks, Nystroem map, cutting planes by secure sums; several classes; selection of features.

In the order in which they import each other:

kmeans          a party's own clusters
landmarks       bottom layer: the centres of all parties, without saying whose
pool            the coordinator's cuts, and the small dual under them
cutting_plane   top layer: linear SVMs by secure sums over all rows
ground          classes, sizes, gamma, signs
pan_svm         PAN-SVM and PPM2C as a protocol
relevance       what features matter to a model, and by themselves
elimination     how many features go in each round
subsets         PAN-SVM on some of the columns, and its accuracy over folds
select_wrapper  PPFSVW
select_filter   PPFSIFW
svc, selectors  the estimators
attacks         what sums and landmarks give away
"""

from tacit.papers.pan.selectors import FilterWrapperSelector, VotedWrapperSelector
from tacit.papers.pan.svc import PanSVC

__all__ = ["FilterWrapperSelector", "PanSVC", "VotedWrapperSelector"]
