"""Where the holders' values lie on a cluster: layers, each an RDD with one record per holder (`partition.pack`).

A slot is written once, by one job, into that job's layer. So a job reads just the layers that it needs; a layer leaves
the executors' memory as soon as nobody can use its slots, and is forgotten once no other layer would be computed from it
again. Every so many layers one is checkpointed to a file, which cuts it off from its past.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tacit.choreo.codec import decode
from tacit.errors import LocalError, PeerError
from tacit.runtimes.partition import Outbox, Play, draw_root, pack, same

DEPTH = 10  # layers upon each other, so at most ten rounds: Spark's stack overflows at some hundreds
T = TypeVar("T")


@dataclass(eq=False)
class Layer:
    """What one job made. From its parents it would be computed again; it has none where it comes from a file or the driver."""

    rdd: Any
    parents: tuple[Layer, ...] = ()
    given: Any = None
    depth: int = 0  # how many jobs Spark must remember for it

    def __post_init__(self) -> None:
        self.depth = 1 + max((layer.depth for layer in self.parents), default=-1)

    def cut(self) -> None:
        """It is in a file now."""
        self.parents, self.depth = (), 0


@dataclass(eq=False, repr=False)
class Slot:
    """Stands for a value of each of some holders: where it lies, once it is played, and what the driver has seen of it."""

    name: str
    layer: Layer | None = None
    sent: dict[str, dict[str, bytes]] = field(default_factory=dict)


@dataclass(frozen=True)
class Partitions:
    """An input that is on the cluster already: an RDD of records, holder by holder, with the value under `name`."""

    rdd: Any
    name: str


class Layers:
    """All layers of a run."""

    def __init__(self, sc: Any, holders: int) -> None:
        self._sc, self._holders = sc, holders
        self._all: list[Layer] = []
        self._over = False
        drawn = kept(mapped(sc.parallelize(range(holders), holders), draw_root))
        drawn.checkpoint()
        self._job(drawn.count, "the start")
        # a task that was tried twice may have left one key in memory and another in the file: from here on there is the file
        drawn.unpersist(blocking=True)
        self._drawn = Layer(drawn)
        self.root = self._added(Layer(mapped(drawn, same)))

    def placed(self, values: Sequence[dict[str, Any]]) -> Layer:
        """Values that the driver has, one record for each holder."""
        return self._added(Layer(mapped(self._sc.parallelize([pack(v) for v in values], self._holders), same)))

    def broadcast(self, values: dict[str, Any]) -> Any:
        """Values that all holders get."""
        return self._sc.broadcast(pack(values))

    def played(self, parents: Iterable[Layer], play: Play) -> Layer:
        """The layer that a job makes of others; nothing is computed yet."""
        parents = tuple(parents)
        rdd = functools.reduce(lambda a, b: a.zip(b), (layer.rdd for layer in parents))
        return self._added(Layer(mapped(rdd, play), parents, play.given))

    def collect(self, layer: Layer, slots: Iterable[str], place: str) -> list[dict[str, Any]]:
        """What each holder has to say, the messages in these slots among it: one job."""
        deep = layer.depth > DEPTH
        if deep:
            layer.rdd.checkpoint()
        told = self._job(mapped(layer.rdd, Outbox(tuple(slots))).collect, place)
        if deep:
            layer.cut()
        return [decode(bytes(frame)) for frame in told]

    def sweep(self, used: Collection[Layer]) -> None:
        """Take from memory what nobody uses; forget it once nothing would be computed from it again."""
        needed, more = set[Layer](), {self.root, *used}
        while more:
            needed |= more
            more = {parent for layer in more for parent in layer.parents} - needed
        for layer in self._all:
            if layer.rdd.is_cached and layer not in used and layer is not self.root:
                layer.rdd.unpersist()
            if layer not in needed:
                self._forget(layer)
        self._all = [layer for layer in self._all if layer in needed]

    def close(self) -> None:
        """Leave nothing on the cluster, keys first."""
        self._over = True
        layers, self._all = [self._drawn, *self._all], []
        for layer in layers:
            self._forget(layer)

    def _added(self, layer: Layer) -> Layer:
        kept(layer.rdd)
        self._all.append(layer)
        return layer

    def _forget(self, layer: Layer) -> None:
        layer.rdd.unpersist()
        if layer.given is not None:
            layer.given.destroy()
        if file := layer.rdd.getCheckpointFile():
            path = self._sc._jvm.org.apache.hadoop.fs.Path(file)  # noqa: SLF001 - the one way to any file system that Spark knows
            path.getFileSystem(self._sc._jsc.hadoopConfiguration()).delete(path, True)  # noqa: SLF001, FBT003 - Java's

    def _job(self, do: Callable[[], T], place: str) -> T:
        """A job that fails ends the run: who knows what its tasks have told already."""
        if self._over:
            raise LocalError("this run is over, because a job of it failed or because it ended: start another")
        self._over = True
        result = attempted(do, place)
        self._over = False
        return result


def attempted(do: Callable[[], T], place: str) -> T:
    """A job, or one line about why it failed: the text of what Java, Spark or Python raise can contain anything."""
    try:
        return do()
    except Exception as error:  # noqa: BLE001 - see above
        raise _failed(place, str(error)) from None


def kept(rdd: Any) -> Any:
    """In the executors' memory, or on their disks."""
    from pyspark import StorageLevel  # noqa: PLC0415 - an extra

    return rdd.persist(StorageLevel.MEMORY_AND_DISK)


def mapped(rdd: Any, play: Callable[[int, Iterable[Any]], Iterable[bytes]]) -> Any:
    """The function at every partition; its records are bytes as they are, not pickled."""
    made = rdd.mapPartitionsWithIndex(play, preservesPartitioning=True)
    made._bypass_serializer = True  # noqa: SLF001 - as pyspark does where it writes text
    return made


def _failed(place: str, text: str) -> PeerError:
    if "No module named 'tacit" in text:
        return PeerError("the executors have no tacit: install it in the Python that they use (PYSPARK_PYTHON), on every node")
    known = (
        "ModuleNotFoundError",
        "OutOfMemoryError",
        "Python worker exited unexpectedly",
        "ExecutorLostFailure",
        "NotSerializable",
        "PicklingError",
    )
    what = next((word for word in known if word in text), "see Spark's log")
    return PeerError(f"a Spark job failed at {place} ({what}), and the run ended with it: nothing of it is used again; start another")
