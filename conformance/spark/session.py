"""A Spark session: a Java that was found, this very Python for the workers, and little noise."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupspec.conformance import tied
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.spark.java import home_for_spark, java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
# What a task dies of reaches the driver, which reports it (see failures); here it would be a page of traceback.
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
"""


@contextmanager
def session(master: str | None = None, memory: str = "2g") -> Iterator[SparkSession]:
    """A session, stopped at the end.

    Starting takes some seconds. `master`: Spark's URL of a cluster, or local[N]; all processors of this machine by
    default.

    Raises:
        UsageProblem: no Java that Spark can run on, or a master that Spark does not take.
    """
    java = java_home()
    # Otherwise the workers take the first python3 of the PATH, which need not have our packages.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master is None or master.startswith("local"):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="groupspec-spark-") as folder:
        logs = Path(folder) / "log4j2.properties"
        logs.write_text(_LOGGING)
        master = master or f"local[{os.cpu_count()}]"
        settings: dict[str, bool | float | int | str | None] = {
            "spark.driver.memory": memory,
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logs}",
            "spark.sql.warehouse.dir": str(Path(folder) / "warehouse"),
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
        }
        if master.startswith("local"):
            settings |= {
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.host": "127.0.0.1",
                "spark.local.dir": folder,
            }
        builder = SparkSession.builder.master(master).appName("groupspec").config(map=settings)
        try:
            with _own_ways(home_for_spark(java, Path(folder))):
                spark = _started(builder, master)
            try:
                yield spark
            except Exception:
                spark.stop()
                raise
            spark.stop()
        except (KeyboardInterrupt, SystemExit):
            # Maybe in the middle of a conversation: nothing more can be said to it.
            tied.end_all()
            raise


@contextmanager
def _own_ways(java: Path) -> Iterator[None]:
    """Starts the JVM from this Java home, tied to this process, and leaves Ctrl-C to it.

    pyspark's JVM ends with its starter only when it has come up; and pyspark answers Ctrl-C by a call to the JVM, in
    the middle of another one, whose failure it then tells at length.
    """
    from pyspark import java_gateway

    def popen(command: Sequence[str], env: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
        return tied.start(command, environment={**env, "JAVA_HOME": str(java)}, **options)

    logging.getLogger().addFilter(lambda record: "KeyboardInterrupt while sending" not in str(record.msg))
    names = vars(java_gateway)
    theirs, names["Popen"] = names["Popen"], popen
    answer = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        names["Popen"] = theirs
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, answer)


def _started(builder: SparkSession.Builder, master: str) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        reason = next((line for line in str(error).splitlines() if "Exception: " in line), str(error))
        raise UsageProblem(
            what=f"Spark does not start: {reason.partition('Exception: ')[2] or reason}",
            where=f"master {master}",
            allowed="local[N], spark://HOST:PORT, yarn, or k8s://URL: a master that Spark takes, and that answers",
            next_step="leave --master out to use this machine, or check the URL",
        ) from error
