"""One Spark session for all tests of the folder: starting one takes longer than most of them.

It ends with the folder: tests of others, in the same process, try what ends every program that this process has
started.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from groupspec.conformance.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A session on two cores; a task that fails is tried a second time, as on a cluster."""
    with session("local[2,2]", memory="1g") as started:
        yield started
