"""A study on a Spark cluster: one run."""

from __future__ import annotations

from tacit.federation import Federation
from tacit.pipeline import Pipeline
from tacit.request import Records
from tacit.study.names import SEED, STUDY
from tacit.study.replay import pipeline_of
from tacit.study.steps import draw_seed, write_steps


def fit_on_spark(federation: Federation, pipeline: Pipeline) -> Pipeline:
    """Fit a pipeline, whose steps are one run."""
    asked = {"steps": write_steps(pipeline), SEED: draw_seed(), "partition": federation.partition}
    done = federation.run(STUDY, {"data": Records(), "judge": Records()}, **asked)
    return pipeline.take(pipeline_of(asked, federation.roster, done, runtime=federation.runtime))
