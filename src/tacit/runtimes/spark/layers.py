"""Where the holders' values lie on a cluster: layers, each an RDD with one record per holder (`partition.pack`).

A slot is written once, by one job, into that job's layer. So a job reads just the layers that it needs; a layer leaves
the executors' memory as soon as nobody can use its slots, and is forgotten once no other layer would be computed from
it again. Every so many layers one is checkpointed to a file, which cuts it off from its past.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tacit.choreo.codec import decode
from tacit.errors import LocalError, PeerError
from tacit.runtimes.spark.partition import Adder, Outbox, Play, Summand, draw_root, pack, same

DEPTH = 10  # layers upon each other, so at most ten rounds: Spark's stack overflows at some hundreds
T = TypeVar("T")


@dataclass(eq=False)
class Layer:
    """What one job made.

    Its parents are what it would be computed from again; it has none if it comes from a file or the driver.
    """

    rdd: Any
    parents: tuple[Layer, ...] = ()
    given: Any = None
    depth: int = 0  # how many jobs Spark must remember for it

    def __post_init__(self) -> None:
        self.depth = 1 + max((layer.depth for layer in self.parents), default=-1)

    def cut(self) -> None:
        """Forget the parents: the layer is in a file now."""
        self.parents, self.depth = (), 0


@dataclass(eq=False, repr=False)
class Slot:
    """Stands for a value of each of some holders: where it lies, once played, and what the driver has seen of it."""

    name: str
    layer: Layer | None = None
    added: bool = False  # whether the driver has seen the sum of it
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
        drawn = keep(map_partitions(sc.parallelize(range(holders), holders), draw_root))
        drawn.checkpoint()
        self._job(drawn.count, "the start")
        # a task that was tried twice may have left one key in memory and another in the file: from here on there is the
        # file
        drawn.unpersist(blocking=True)
        self._drawn = Layer(drawn)
        self.root = self._add(Layer(map_partitions(drawn, same)))

    def place(self, values: Sequence[dict[str, Any]]) -> Layer:
        """Return a layer of values that the driver has, one record for each holder."""
        return self._add(Layer(map_partitions(self._sc.parallelize([pack(v) for v in values], self._holders), same)))

    def broadcast(self, values: dict[str, Any]) -> Any:
        """Return values that all holders get."""
        return self._sc.broadcast(pack(values))

    def play(self, parents: Iterable[Layer], play: Play) -> Layer:
        """Return the layer that a job makes of others; nothing is computed yet."""
        parents = tuple(parents)
        rdd = functools.reduce(lambda a, b: a.zip(b), (layer.rdd for layer in parents))
        return self._add(Layer(map_partitions(rdd, play), parents, play.given))

    def collect(self, layer: Layer, slots: Iterable[str], place: str) -> list[dict[str, Any]]:
        """Return what each holder has to say, the messages in these slots among it; that is one job."""
        return self._tell(layer, map_partitions(layer.rdd, Outbox(tuple(slots))), place)

    def total(self, layer: Layer, summand: Summand, adder: Adder) -> dict[str, Any]:
        """Return what all holders have to say, and the sum of their messages, which executors add up in a tree."""
        told = map_partitions(layer.rdd, summand)
        for width in (math.isqrt(self._holders), 1):
            told = map_partitions(shuffle(told, width), adder)
        (found,) = self._tell(layer, told, adder.place)
        return found

    def _tell(self, layer: Layer, told: Any, place: str) -> list[dict[str, Any]]:
        """Bring the records of an RDD that is made of a layer, which becomes a file if it has too much of a past."""
        deep = layer.depth > DEPTH
        if deep:
            layer.rdd.checkpoint()
        frames = self._job(told.collect, place)
        if deep:
            layer.cut()
        return [decode(bytes(frame)) for frame in frames]

    def sweep(self, used: Collection[Layer]) -> None:
        """Remove from memory what nobody uses; forget it once nothing would be computed from it again."""
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
        """Remove everything from the cluster, keys first."""
        self._over = True
        layers, self._all = [self._drawn, *self._all], []
        for layer in layers:
            self._forget(layer)

    def _add(self, layer: Layer) -> Layer:
        keep(layer.rdd)
        self._all.append(layer)
        return layer

    def _forget(self, layer: Layer) -> None:
        layer.rdd.unpersist()
        if layer.given is not None:
            layer.given.destroy()
        if file := layer.rdd.getCheckpointFile():
            # the one way to any file system that Spark knows
            path = self._sc._jvm.org.apache.hadoop.fs.Path(file)  # noqa: SLF001
            path.getFileSystem(self._sc._jsc.hadoopConfiguration()).delete(path, True)  # noqa: SLF001, FBT003 - Java's

    def _job(self, do: Callable[[], T], place: str) -> T:
        """Run a job; one that fails ends the run, since nobody knows what its tasks have told already."""
        if self._over:
            raise LocalError("this run is over, because a job of it failed or because it ended: start another")
        self._over = True
        result = attempt(do, place)
        self._over = False
        return result


def attempt(do: Callable[[], T], place: str) -> T:
    """Run a job; raise one line if it fails, without the words of Java, Spark or Python, which can contain data."""
    try:
        return do()
    except Exception as error:  # noqa: BLE001 - see above
        raise _explain(place, str(error)) from None


def keep(rdd: Any) -> Any:
    """Keep an RDD in the executors' memory, or on their disks."""
    from pyspark import StorageLevel  # noqa: PLC0415 - an extra

    return rdd.persist(StorageLevel.MEMORY_AND_DISK)


def map_partitions(rdd: Any, play: Callable[[int, Iterable[Any]], Iterable[bytes]]) -> Any:
    """Apply the function at every partition; its records are bytes as they are, not pickled."""
    made = rdd.mapPartitionsWithIndex(play, preservesPartitioning=True)
    made._bypass_serializer = True  # noqa: SLF001 - as pyspark does where it writes text
    return made


def shuffle(rdd: Any, width: int) -> Any:
    """Bring records together in so many partitions, as the bytes they are."""
    from pyspark import RDD  # noqa: PLC0415 - an extra
    from pyspark.serializers import NoOpSerializer  # noqa: PLC0415 - an extra

    return RDD(rdd._jrdd.coalesce(width, True), rdd.ctx, NoOpSerializer())  # noqa: SLF001 - Java's


def _explain(place: str, text: str) -> PeerError:
    if "No module named 'tacit" in text:
        return PeerError(
            "the executors have no tacit: install it in the Python that they use (PYSPARK_PYTHON), on every node"
        )
    known = (
        "ModuleNotFoundError",
        "OutOfMemoryError",
        "Python worker exited unexpectedly",
        "ExecutorLostFailure",
        "NotSerializable",
        "PicklingError",
    )
    what = next((word for word in known if word in text), "see Spark's log")
    return PeerError(
        f"a Spark job failed at {place} ({what}), and the run ended with it: nothing of it is used again; start another"
    )
