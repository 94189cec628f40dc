"""One Spark session for all tests: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from groupspec.conformance.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores; a task that fails is tried a second time, as on a cluster."""
    with session("local[2,2]", memory="1g") as started:
        yield started
