"""Where a source can be read: addresses of the public documents that rules, bugs and differences cite."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

from markupsafe import Markup, escape

_WIKI: Final = "https://cwiki.apache.org/confluence/display/KAFKA/"

KIPS: Final = {
    "KIP-41": "KafkaConsumer Max Records",
    "KIP-62": "Allow consumer to send heartbeats from a background thread",
    "KIP-134": "Delay initial consumer group rebalance",
    "KIP-266": "Fix consumer indefinite blocking behavior",
    "KIP-345": "Introduce static membership protocol to reduce consumer rebalances",
    "KIP-394": "Require member.id for initial join group request",
    "KIP-429": "Kafka Consumer Incremental Rebalance Protocol",
    "KIP-735": "Increase default consumer session timeout",
    "KIP-848": "The Next Generation of the Consumer Rebalance Protocol",
}
"""KIP to its title: the wiki's addresses are made of both."""

_REPOSITORIES: Final = {
    "kafka-python": "dpkp/kafka-python",
    "aiokafka": "aio-libs/aiokafka",
    "librdkafka": "confluentinc/librdkafka",
    "franz-go": "twmb/franz-go",
    "kafka-go": "segmentio/kafka-go",
    "kafkajs": "tulios/kafkajs",
    "sarama": "IBM/sarama",
    "node-rdkafka": "Blizzard/node-rdkafka",
    "FluidFramework": "microsoft/FluidFramework",
    "MINOR": "apache/kafka",
}

_PROPOSAL: Final = "Threading refactor proposal"
_PATTERN: Final = re.compile(
    rf"(?P<proposal>{_PROPOSAL}|threading refactor proposal)|(?P<kip>KIP-\d+)|KAFKA-(?P<issue>\d+)"
    rf"|(?P<repository>{'|'.join(_REPOSITORIES)})|#(?P<number>\d+)|PR (?P<pull>\d+)"
    r"|(?<=\d, )(?P<next_pull>\d{3,5})\b|(?<=\d / )(?P<next_issue>\d{4,5})\b"
)
"""`PR 10985, 13550` are two pull requests, `KAFKA-10134 / 10122` two issues."""


def source(text: str) -> Markup:
    """A citation, in which everything that has a public address is a link to it.

    A number after `#` or `PR` belongs to the client that was named last, and to Apache Kafka where none was.
    """
    repository, at, shown = "apache/kafka", 0, Markup("")
    for found in _PATTERN.finditer(text):
        shown += escape(text[at : found.start()])
        at = found.end()
        if found["repository"]:
            repository = _REPOSITORIES[found["repository"]]
        elif found["issue"]:
            repository = "apache/kafka"
        shown += _link(found, repository)
    return shown + escape(text[at:])


def _link(found: re.Match[str], repository: str) -> Markup | str:
    address = ""
    if found["proposal"]:
        address = _WIKI + quote_plus("Proposal: Consumer Threading Model Refactor")
    elif found["kip"] in KIPS:
        address = _WIKI + quote_plus(f"{found['kip']}: {KIPS[found['kip']]}")
    elif issue := found["issue"] or found["next_issue"]:
        address = f"https://issues.apache.org/jira/browse/KAFKA-{issue}"
    elif number := found["number"] or found["pull"] or found["next_pull"]:
        kind = "issues" if found["number"] and repository != "apache/kafka" else "pull"
        address = f"https://github.com/{repository}/{kind}/{number}"
    return Markup('<a href="{}" rel="external">{}</a>').format(address, found[0]) if address else escape(found[0])
