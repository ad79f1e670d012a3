"""The facts of the core: what its messages tell, and what a study reveals. Each fact has one identifier.

Those of the family `core` are all that a study of the core can reveal of anybody's data.
"""

from __future__ import annotations

from tacit.choreo import Fact

# What tells nothing

DEALT = Fact("shares.dealt", "nobody", "nothing", "none", "nothing: uniform words that complete the others' shares")
MASKED = Fact(
    "sums.masked", "nobody", "nothing", "none",
    "nothing alone: a vector under pads that cancel only in the sum over all holders",
)  # fmt: skip
UNIFORM = Fact(
    "shares.uniform", "nobody", "nothing", "none",
    "nothing: random words, or words under masks",
)  # fmt: skip
PUBLIC_KEY = Fact("keys.public", "nobody", "key", "party", "nothing: a public key made for this run")

# What a study of the core reveals

SIZES = Fact(
    "core.sizes", "holder", "size", "party",
    "how many records and columns each party brings, exactly, whether its records have weights, and that what it brings"
    " to least squares is what so many records can be",
    brief="how many records and columns each party brings",
)  # fmt: skip
COLUMN_NAMES = Fact("core.names", "holder", "size", "column", "the names and kinds of each holder's columns")
OWNERS = Fact("core.owners", "holder", "membership", "cell", "who owns which cells")
CLASSES = Fact(
    "core.classes", "holder", "label", "party",
    "the names of the classes of each party, unless they are declared, and which of them have too few records",
    brief="the classes of each party, and which have too few records",
)  # fmt: skip
BALANCE = Fact(
    "core.balance", "holders", "count", "class",
    "with class_weight='balanced' the weight of each class, rounded to a power of the square root of two; with"
    " features='exact' its size",
    brief="with class_weight='balanced' the weight of each class, rounded; with features='exact' its size",
)  # fmt: skip
COLUMNS = Fact(
    "core.columns", "holders", "aggregate", "column",
    "of each column a median and a mean, rounded to a sixteenth of its scale, a scale, rounded to a power of the square"
    " root of two, the quantiles that were asked for, rounded like a mean, and whether k records have a value, lack"
    " one, or have one that is no id; the categories that parties declare, which of them k records have, and which the"
    " most records have if that fills gaps",
    brief="rounded medians, means, scales and quantiles of columns, and which values and categories enough records"
    " have or lack",
)  # fmt: skip
DESCRIPTION = Fact(
    "core.description", "holders", "count", "column",
    "in a description how many records have a value of a column or one of its categories, rounded; suppressed where"
    " fewer than k records have it, or all but fewer than k",
    brief="rounded counts of records that have a value of a column or a category, suppressed where they are few",
)  # fmt: skip
UNLIKE = Fact(
    "core.unlike", "holder", "membership", "column",
    "in a description which columns of a party are empty, far larger or smaller than at the others, or have other"
    " categories",
    brief="which columns of a party are empty or unlike those of others",
)  # fmt: skip
LANDMARKS = Fact(
    "core.landmarks", "holders", "aggregate", "all",
    "synthetic points, drawn once from the mean and covariance of all records, which have noise and are rounded, in"
    " units of a coarse centre and scale of every column; in a regression a coarse middle and spread of the targets",
    brief="synthetic points, drawn from a noisy, rounded mean and covariance of all records; in a regression a coarse"
    " middle and spread of the targets",
)  # fmt: skip
MAGNITUDES = Fact(
    "core.magnitudes", "holders", "aggregate", "all",
    "one number each, of all cells or targets together: the smallest power of two that none exceeds, unless a range was"
    " declared; with gamma='scale' the variance of all cells; with the polynomial kernel, or the linear one of centred"
    " columns, the mean of the kernel matrix's diagonal",
)  # fmt: skip
MODEL = Fact(
    "core.model", "holders", "model", "all",
    "the weights of the model, rounded and with noise of one step, and to a power of two how large weights and rows of"
    " features are; with alpha='auto' which of a few alpha was the best; with C='auto' which of a few C was the best;"
    " with probability=True rounded averages of decision values and targets, with noise",
    brief="the weights of the model, rounded and with noise; with alpha='auto' which of a few alpha was the best; with"
    " C='auto' which of a few C was the best; with probability=True rounded averages of decision values and"
    " targets, with noise",
)  # fmt: skip
SCORES = Fact(
    "core.scores", "holders", "aggregate", "all",
    "of each candidate of a search how good it is on records that are held out, rounded and with noise of some records;"
    " of a selection which columns have the largest noisy weights, half of them at a time, and which number is best",
    brief="how good each candidate of a search is, rounded and with noise; which columns a selection keeps",
)  # fmt: skip
JUDGEMENT = Fact(
    "core.judgement", "holders", "count", "group",
    "how many held-out records of each class were given each class, and of two classes have values in bins, each of"
    " none or k records of a class; of numbers and probabilities rounded sums of errors; the same of groups of records,"
    " and rounded figures of sites, where they and all others have none or k records of each class, else that they are"
    " suppressed",
    brief="how well the model does on held-out records, by class and group, rounded and of enough records",
)  # fmt: skip
ANSWERS = Fact(
    "core.answers", "holders", "answer", "record",
    "the answers about the records that were asked about: by rows to each holder about its own, else to the asker about"
    " all",
)  # fmt: skip
RELEASE = Fact(
    "core.release", "holders", "aggregate", "column",
    "how well attacks on the model tell members from others and guess values of columns, over all sites: to the"
    " coordinator as sums, of each column that was tried, to everyone in three digits; how many sites attacked it, on"
    " how many records of the training and how many others in all; and to how many sites it is wrong more often than"
    " their policies allow",
    brief="how well attacks on the model find its records and guess their values",
)  # fmt: skip

# Of differential privacy

NOISY_SUM = Fact(
    "noisy.sum", "holders", "aggregate", "all",
    "a sum over all records with noise of every holder in it: differentially private with the epsilon and delta of the"
    " parameters, while as many holders as `honest` says tell nobody their noise",
)  # fmt: skip
NOISY_STATISTICS = Fact(
    "noisy.columns", "holders", "aggregate", "column",
    "bounds, means, variances, histograms and counts of declared values, as far as they are asked for: from noisy sums,"
    " so differentially private with the epsilon and delta of the parameters",
)  # fmt: skip
NOISY_JUDGEMENT = Fact(
    "noisy.judgement", "holders", "count", "group",
    "about how many records of each class were given each class, or how large the model's errors are, and how scores or"
    " errors lie in bins: from a noisy sum, so differentially private with the epsilon and delta of the parameters",
)  # fmt: skip
NOISY_MODEL = Fact(
    "noisy.model", "holders", "model", "all",
    "every iterate and the model, from noisy sums: differentially private with the epsilon and delta of the parameters",
)  # fmt: skip

# Of alignment

ID_COUNTS = Fact("align.sizes", "holder", "size", "party", "how many ids a holder has")
COMMON = Fact(
    "align.common_count", "holders", "count", "all",
    "how many ids are common to all holders, or that they are fewer than min_records",
)  # fmt: skip
COMMON_HOWEVER_FEW = Fact(
    "align.common_count_however_few", "holders", "count", "all",
    "how many ids are common to all holders, even if fewer than min_records, to whoever has both lists of tokens",
)  # fmt: skip
MATCHED = Fact(
    "align.matched", "reader", "membership", "record",
    "which of the reader's ids are common to all holders, and so which some other holder lacks; a random order of"
    " these",
)  # fmt: skip
DIFFERS = Fact("align.differs", "holder", "membership", "party", "which holders' records differ, row by row")

# Of sums

TOTAL = Fact(
    "sums.total", "holders", "aggregate", "all", "the sum over all holders", brief="sums over all sites, of none alone"
)  # fmt: skip
MARKED = Fact("sums.marked", "holders", "aggregate", "all", "which entries anybody has marked")
