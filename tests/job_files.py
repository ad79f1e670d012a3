"""The job file that the package brings as an example, between other sites or about other records."""

from tacit.consortium.site.example_files import fill


def example_job(parties=("north", "south", "east"), rows=200, **values):
    declared = "\n".join(f"{name} = {rows}" for name in parties) if rows else ""
    text = fill("job", {"parties": parties, "labeller": parties[0], **values})
    return text.replace("north = 200\nsouth = 200\neast = 200", declared)
