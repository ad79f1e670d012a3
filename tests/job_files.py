"""The job file that the package brings as an example, between other sites or about other records, and small studies."""

from tacit.choreo.declaration import plain
from tacit.consortium.jobs.job import restore
from tacit.consortium.site.example_files import fill


def example_job(parties=("north", "south", "east"), rows=200, **values):
    declared = "\n".join(f"{name} = {rows}" for name in parties) if rows else ""
    text = fill("job", {"parties": parties, "labeller": parties[0], **values})
    return text.replace("north = 200\nsouth = 200\neast = 200", declared)


def one_step(use="SVC", **params):
    """The parameters of a study of one estimator."""
    return {"seed": 1, "steps": ({"use": use, **params},)}


def with_step(job, **changes):
    """The parameters of the job of such a study with others of its estimator."""
    (step,) = restore(job.params["steps"])
    return {**job.params, "steps": plain("steps", ({**step, **changes},))}
