"""A cluster of two executors on this machine, one of which is killed in the third round.

Prints how the run came out.
"""

import json
import os
import sys
from pathlib import Path

TESTS = str(Path(__file__).parent.parent)
os.environ["PYTHONPATH"] = TESTS  # the executors', who find the steps there
sys.path.insert(0, TESTS)

from spark import killing  # noqa: E402 - found there too
from tacit.runtimes.spark.session import OWN, session, start  # noqa: E402


def main(folder: str) -> None:
    """One run."""
    made = session(
        start("local-cluster[2,1,1024]", spark_executor_extraJavaOptions=OWN["spark.driver.extraJavaOptions"])
    )
    sys.stdout.write(json.dumps(killing.play(made.sparkContext, folder, rounds=5, fatal=(2,), whom="executor")) + "\n")
    made.stop()


if __name__ == "__main__":
    main(sys.argv[1])
