"""The Spark that a run uses: the caller's, or a small one on this machine.

Refused in one line where it cannot be had or trusted.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from tacit.errors import LocalError, MissingExtraError

JAVA = "Debian and Ubuntu: apt install openjdk-17-jre-headless; elsewhere install Java 17 and set JAVA_HOME"
FAILURES = 4  # of a task, before its job fails
OWN = {
    "spark.app.name": "tacit",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # jobs are short, and the work is not Java's
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def session(spark: Any = None) -> Any:
    """Return the given or active session, or one of our own with all cores of this machine, once it is checked."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("Spark", "spark") from None
    found = spark or SparkSession.getActiveSession() or start()
    if not hasattr(found, "sparkContext") or "connect" in type(found).__module__:
        raise LocalError(
            "tacit needs Spark's own driver, not Spark Connect: run this program with spark-submit, or unset"
            " SPARK_REMOTE"
        )
    check(found.sparkContext)
    return found


def check(sc: Any) -> None:
    """Check the rules that keep one mask on one value, and that there is a folder for checkpoints."""
    conf = sc.getConf()
    for name in ("spark.speculation", "spark.sql.speculation"):
        if conf.get(name, "false") == "true":
            raise LocalError(f"{name}=true computes the same masked sum twice: set it to false for this application")
    if int(conf.get("spark.task.maxFailures", str(FAILURES))) < FAILURES:
        raise LocalError(
            f"spark.task.maxFailures is below {FAILURES}, so that one lost worker ends a run: leave it at {FAILURES} or"
            " more"
        )
    if sc.getCheckpointDir() is None:
        _checkpoints(sc)


def _checkpoints(sc: Any) -> None:
    if not sc.master.startswith("local"):
        raise LocalError(
            "a cluster needs a folder for checkpoints that all its nodes reach and only you can read:"
            " call spark.sparkContext.setCheckpointDir('hdfs:///...') first"
        )
    folder = tempfile.mkdtemp(prefix="tacit-checkpoints-")  # readable by this user only
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sc.setCheckpointDir(Path(folder).as_uri())


def start(master: str = f"local[*,{FAILURES}]", **settings: str) -> Any:
    """Start a session on this machine that talks to nobody else and says nothing.

    `settings` are Spark's, with _ for the dots.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415

    with quiet(), _own_settings():
        if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started it, with the settings it was given
            return SparkSession.builder.getOrCreate()
        find_java()
        conf = (
            SparkConf()
            .setMaster(master)
            .setAll([*OWN.items(), *((name.replace("_", "."), value) for name, value in settings.items())])
        )
        try:
            launch = import_module("pyspark.java_gateway").launch_gateway
            # Java starts once
            gateway = SparkContext._gateway or launch(conf, {"stderr": subprocess.DEVNULL})  # noqa: SLF001
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except (RuntimeError, OSError):  # Java says why on its stderr
            raise LocalError(f"Java did not start Spark: is it Java 17 or newer? {JAVA}") from None


def find_java() -> str:
    """Return the folder of Java."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if found is None:
        where = f"not in JAVA_HOME={home}" if home else "not installed"
        raise LocalError(f"Spark needs Java 17 or newer, which is {where}. {JAVA}")
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Silence pyspark's remarks on other packages."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        yield


@contextmanager
def _own_settings() -> Iterator[None]:
    """Set what Spark takes from the environment only: the loopback interface, and this very Python."""
    ours = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    added = {name: value for name, value in ours.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
