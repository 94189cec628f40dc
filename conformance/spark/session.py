"""A Spark session on this machine: a Java that was found, this very Python for the workers, and little noise."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from groupspec.conformance.spark.java import java_home

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
"""


@contextmanager
def session(cores: int | None = None, memory: str = "2g") -> Iterator[SparkSession]:
    """A local session, stopped at the end.

    Starting takes some seconds. `cores`: how many tasks run at once; all processors by default.

    Raises:
        UsageProblem: no Java that Spark can run on.
    """
    import tempfile
    from pathlib import Path

    java = java_home()
    os.environ.update(java.environment)
    # Otherwise the workers take the first python3 of the PATH, which need not have our packages.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="groupspec-spark-") as folder:
        logging = Path(folder) / "log4j2.properties"
        logging.write_text(_LOGGING)
        builder = SparkSession.builder.master(f"local[{cores or os.cpu_count()}]").appName("groupspec")
        settings = {
            "spark.driver.memory": memory,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging}",
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": str(Path(folder) / "warehouse"),
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
