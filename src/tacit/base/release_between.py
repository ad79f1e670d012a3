"""The release gate between organisations: before an analyst is sent a model, every site attacks it on its own records.

    what the model contains    needs no record, so everybody finds the same
    membership, values         each site trains twins on its own records, in simulation and alone; figures are summed
                               under masks, and published over all sites (`protocols.judge.release_figures`)
    own records                each site counts the errors of the model on its own; how many find more than their own
                               policies allow is summed with the figures
    limits                     those of every site's policy; the strictest counts. A figure that could not be measured
                               keeps a model back only where a policy has required = true: another site would have let
                               it go unmeasured

Where a study holds records out, each site attacks the model itself, with those as others; without them twins are
attacked, each by all others. A model with differential privacy is not attacked: figures of its records would be
outcomes that nobody paid for. In their place stands what its epsilon promises, whatever the attack.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.attribute_inference import COLUMNS, count_guesses, count_tried
from tacit.attacks.membership_inference import FALSE, membership_inference
from tacit.attacks.twins import Target, target_model, target_twins, train_between, train_twins
from tacit.base.release import ATTACKS, at_most, last_of, look_inside, unmeasured
from tacit.base.shared import write_concerns_only
from tacit.choreo import Holder, once
from tacit.choreo.declaration import Number, wrong_value
from tacit.errors import LocalError, PeerError
from tacit.federation import Federation
from tacit.federation.part import Part
from tacit.numeric.privacy.accountant import epsilon_of, most_found, mu_of
from tacit.progress import watching
from tacit.protocols.judge.release_figures import FEWEST, GUESSES, SHARES, Attacked, Attacks
from tacit.report.outcome import add_outcome
from tacit.report.release import Limits, Line, Release, find_strictest
from tacit.request import Beside, Computed, Records, Request, Rules

USUALLY = 8  # twins that each site trains
MOST = 5000  # records that a site attacks with: twins of more cost more, and reveal less
MEMBERS, OTHERS = 50, 20  # records of a site below which its figures tell nothing
PARTIES = 3  # between whom twins are trained: how many there are changes no sum
PROMISE = "promise of epsilon: members found at 1 % false alarms, by whatever attack"
JUDGED = 10  # records by which a site can say that a model is wrong
WRONG = "sites to whom the model is too often wrong"
TWIN_COUNTS = Number(4, 1000, whole=True)


def check_between(pipeline: Any, learning: Federation, judging: Federation, *, twins: int = USUALLY) -> Release:
    """Have the sites attack the model of a fitted pipeline; write what came out into its report, and return it.

    Args:
        pipeline: what was fitted on `learning`; its last step is public.
        learning: the records of the training, between the sites that hold them.
        judging: records that the sites held out of it; perhaps none.
        twins: how many models each site trains to attack with.
    """
    model, step = last_of(pipeline), pipeline.steps[-1][1]
    _check(model, learning, twins)
    told = learning.run(Request("release_limits", {"rules": Rules()}))
    of_sites = {party: _read_limits(each) for party, each in told.result.items()}
    limits = find_strictest(of_sites.values())
    outcomes, inside = [told], list(look_inside(pipeline, limits))
    if find_noisy(pipeline):
        lines, how = [promise_of(pipeline, limits)], "The model has differential privacy: no figure of records is made."
    else:
        prepared, beside = pipeline.prepare(learning), Beside(pipeline.prepare(judging))
        allowed = {party: each.most_errors for party, each in of_sites.items()}
        asked = partial(attack_own_records, model, twins, allowed)
        attacked = Computed(Holder, once(asked), (Records(), beside))
        outcomes.append(prepared.run(Request("release_figures", {"attacked": attacked}, {})))
        found: Attacks = outcomes[-1].result
        lines, how = list(_list_lines(model, found, limits)), _describe(found, len(learning.parts), twins)
    gate = Release([*inside, *lines], how)
    for outcome in outcomes:
        add_outcome(step.report_, outcome)
    for reported in (step, model):
        reported.report_.release = gate
    pipeline.combine_reports()
    return gate


def _check(model: Any, federation: Federation, twins: int) -> None:
    """Raise if there is nothing that could be released, or that sites could attack."""
    if not TWIN_COUNTS.allows(twins):
        raise wrong_value("twins", "[release]", TWIN_COUNTS.words, twins)
    if federation.partition != "horizontal" or not hasattr(model, "public_model") or model.public_model() is None:
        raise LocalError(
            f"[release] needs a public model of records that sites hold by rows, and this {type(model).__name__} is not"
            " one: leave [release] out"
        )


def _read_limits(told: Mapping[str, Any]) -> Limits:
    """Return what a site allows; one that requires no gate lets a figure be missing."""
    try:
        limits = msgspec.convert(dict(told), Limits)
        return msgspec.structs.replace(limits, unmeasured=limits.unmeasured or not limits.required)
    except msgspec.ValidationError as error:
        raise PeerError(
            f"a site sent limits that cannot be used ({error}): do all sites run the same version?"
        ) from None


# What differential privacy promises


def find_noisy(pipeline: Any) -> list[tuple[float, float]]:
    """Return epsilon and delta of every step that has them."""
    steps = [last_of(step) for _, step in pipeline.steps]
    return [(step.epsilon, step.delta) for step in steps if getattr(step, "epsilon", None) is not None]


def promise_of(pipeline: Any, limits: Limits) -> Line:
    """Return what epsilon of all steps promises; nothing where a step before the model has no noise."""
    spent = find_noisy(pipeline)
    plain = [name for name, step in pipeline.steps if getattr(last_of(step), "epsilon", None) is None]
    if plain:
        return unmeasured(PROMISE, "true_positives", limits, f"epsilon does not cover the steps {', '.join(plain)}")
    mu = math.sqrt(sum(mu_of(*each) ** 2 for each in spent))
    delta = spent[-1][1]
    said = f"epsilon = {epsilon_of(mu, delta):.3g}, delta = {delta:g}, for one record"
    return at_most(PROMISE, "true_positives", round(most_found(mu, FALSE), 3), limits, said)


# What the sums say


def _list_lines(model: Any, found: Attacks, limits: Limits) -> Iterator[Line]:
    """Yield the lines of the table that need records."""
    if limits.most_errors < 1.0:
        yield Line(
            WRONG, "most_errors", float(found.wrong), 0.0, found.wrong > 0, "each by its own policy, on its own records"
        )
    if found.sites < FEWEST:
        few = f"fewer than {FEWEST} sites have {MEMBERS} records of the training to train twins on"
        yield from (unmeasured(name, limit, limits, few) for limit, name in ATTACKS.items())
        return
    told = dict(zip(SHARES, map(float, found.shares), strict=True))
    tried = _choose_columns(model.n_features_in_)
    column = model.federation_.features[tried[found.column]] if found.column >= 0 else ""
    figures = {
        "membership_auc": (max(told["area"], told["loss_area"]), f"loss threshold {told['loss_area']:.3f}"),
        "true_positives": (max(told["found"], told["loss_found"]), f"loss threshold {told['loss_found']:.3f}"),
        "attribute_advantage": (max(0.0, found.advantage), column),
    }
    for limit, name in ATTACKS.items():
        yield at_most(name, limit, figures[limit][0], limits, figures[limit][1])


def _describe(found: Attacks, sites: int, twins: int) -> str:
    against = "the model itself was attacked" if found.direct else "each was attacked by all others"
    seen = f"{found.sites} of {sites} sites trained {twins} twins each on their own records, and {against}"
    return f"{seen}: on {found.members} members and {found.others} others. Only sums over all sites were opened."


# Steps at the sites


def attack_own_records(
    model: Any, twins: int, allowed: Mapping[str, float], party: str, part: Part, held: Part
) -> Attacked:
    """Return how well a site's attacks on a model go on its own records; nothing of them is sent by this step."""
    columns = _choose_columns(part.X.shape[1])
    wrong = measure_errors(model, held if len(held.X) else part) > allowed.get(party, 1.0)
    nothing = Attacked(
        wrong=wrong, measured=False, direct=False, members=0, others=0,
        shares=np.zeros(len(SHARES)), guesses=np.zeros((len(columns), GUESSES)),
    )  # fmt: skip
    if part.y is None or len(part.X) < MEMBERS or 0 < len(held.X) < OTHERS:
        return nothing
    direct = len(held.X) > 0 and held.y is not None
    chosen = np.sort(np.random.default_rng(0).permutation(len(part.X))[:MOST])
    own, labels = part.X[chosen], part.y[chosen]
    X = np.vstack([own, held.X]) if direct else own
    y = np.concatenate([labels, held.y]) if direct and held.y is not None else labels
    try:
        targets = _find_targets(model, X, y, len(own), twins, direct=direct)
    except LocalError:  # such as a half that has too few records of a class: what it says stays here
        return nothing
    found = membership_inference(targets)
    members = sum(int(target.member.sum()) for target in targets)
    rows = np.random.default_rng(0).permutation(len(X))[: count_tried(targets)]
    return Attacked(
        wrong=wrong,
        measured=True,
        direct=direct,
        members=members,
        others=len(targets) * len(X) - members,
        shares=np.array([found.auc, found.loss_auc, found.true_positives, found.loss_true_positives]),
        guesses=count_guesses(targets, X, y, columns, rows).astype(np.float64),
    )


def measure_errors(model: Any, part: Part) -> float:
    """Return the share of records that a model gets wrong, of numbers 1 - R^2; 0 of too few to say."""
    if part.y is None or len(part.X) < JUDGED:
        return 0.0
    predicted = _without_names(model).predict(part.X)
    if hasattr(model, "classes_"):
        return float(np.mean(predicted != part.y))
    spread = float(np.var(part.y))
    return float(np.mean(np.square(predicted - part.y))) / spread if spread > 0 else 0.0


def _find_targets(model: Any, X: F64, y: Any, members: int, twins: int, *, direct: bool) -> Sequence[Target]:
    """Return what a site attacks: the model itself where it has other records, else twins of it."""
    parties = tuple(model.federation_.parts)[:PARTIES]
    train = train_between(model, parties, "horizontal", allow_missing=bool(np.isnan(X).any()))
    member = np.arange(len(X)) < members
    share = min(0.75, float(member.mean())) if direct else 0.5
    with write_concerns_only(), watching("twins", verbose=False):
        made = train_twins(train, X, y, count=twins, share=share)
    return target_model(_without_names(model), X, y, member, made) if direct else target_twins(made)


def _without_names(model: Any) -> Any:
    """Return a copy of a fitted model that takes records without names of columns, which a site has in its order."""
    unnamed = copy.copy(model)
    vars(unnamed).pop("feature_names_in_", None)
    return unnamed


def _choose_columns(count: int) -> I64:
    """Return which columns are guessed: everywhere the same."""
    return np.sort(np.random.default_rng(0).permutation(count)[:COLUMNS])
