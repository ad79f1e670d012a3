"""The example for clusters works with spark-submit, on the loopback interface."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "05_spark_submit.py"


def test_the_example_trains_and_classifies_where_the_records_are(java, tmp_path):
    del java
    submit = str(Path(find_spec("pyspark").origin).parent / "bin" / "spark-submit")
    settings = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }  # fmt: skip
    command = [
        submit,
        "--master",
        "local[2,4]",
        *(word for s in settings.items() for word in ("--conf", "=".join(s))),
        str(EXAMPLE),
    ]
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(  # noqa: S603 - our own file
        command, env={**os.environ, **python}, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "rows of east 142, north 143, south 142, west 142; coordinator driver" in done.stdout
    assert "the learners agreed in " in done.stdout
    accuracy = float(done.stdout.split("accuracy: ")[1])
    assert 0.92 < accuracy <= 1
