"""A study on a Spark cluster: one run, and what the driver must not read is refused before any record is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.choreo import Everyone, Holder, Roster
from tacit.federation import Federation
from tacit.pipeline import Pipeline
from tacit.protocols.sums.secure_sum import PublicKey
from tacit.request import Records
from tacit.runtimes.spark.cluster import refuse_passing
from tacit.study.names import SEED, STUDY
from tacit.study.rehearsed import Plan, plan_study
from tacit.study.replay import pipeline_of
from tacit.study.steps import draw_seed, write_steps

CAST = 3  # learners that a rehearsal needs


def fit_on_spark(federation: Federation, pipeline: Any) -> Pipeline:
    """Return the fitted form of a pipeline: what one of its steps opens of rows is known to the next."""
    asked = {"steps": write_steps(pipeline), SEED: draw_seed(), "partition": federation.partition}
    check_on_spark(federation.roster, asked, federation.kinds)
    done = federation.run(STUDY, {"data": Records(), "judge": Records()}, **asked)
    return pipeline_of(asked, federation.roster, done, runtime=federation.runtime)


def check_on_spark(roster: Roster, asked: Mapping[str, Any], kinds: Mapping[str, str]) -> Plan:
    """Return what a study asks for; refuse one in which a learner sends another one what the driver would then read.

    kinds: the columns that hold texts or dates.
    """
    few = Roster({**roster.roles, Holder: roster[Holder][:CAST]})
    holders = few[Holder]
    plan = plan_study(few, asked, kinds)
    for row in plan.ledger:
        between = row.sender in holders and row.receiver in holders and row.receiver_role != Everyone.name
        if between and row.tells != PublicKey.tells:  # a public key is for anybody to read
            raise refuse_passing(row.type)
    return plan
