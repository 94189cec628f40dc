"""Settings of Kafka's consumer, and of kafka-python's, that this one does not have: why, and what to do instead.

A setting that is silently ignored is a promise that is not kept, so each of them is refused with its reason. Names are
those of org.apache.kafka.clients.consumer.ConsumerConfig and of kafka.KafkaConsumer.DEFAULT_CONFIG.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

_SECURITY: Final = "connections are plain: neither TLS nor SASL is offered"
_METRICS: Final = "metrics() returns all metrics; there are no reporters and no samples to configure"
_KIP_848: Final = "only the classic group protocol is offered (KIP-848 replaces it by another one)"

_REASONS: Final[Mapping[str, str]] = {
    "api_version api_version_auto_timeout_ms": "each broker is asked for its versions; leave it out",
    "auto_include_jmx_reporter metric_reporters metrics_enabled metrics_num_samples metrics_recording_level "
    "metrics_sample_window_ms metric_group_prefix enable_metrics_push": _METRICS,
    "client_dns_lookup": "all addresses of a host are tried, as with use_all_dns_ips",
    "client_rack": "records are fetched from leaders only (no KIP-392)",
    "config_providers": "values are given as they are",
    "connections_max_idle_ms": "a connection stays open until the broker closes it (its connections.max.idle.ms)",
    "default_offset_commit_callback": "give commit_async() a callback; automatic commits log what fails",
    "enable_incremental_fetch_sessions": "every fetch names all its partitions (no KIP-227)",
    "group_protocol": _KIP_848,
    "group_remote_assignor": _KIP_848,
    "interceptor_classes": "call what you need around poll() and commit()",
    "internal_leave_group_on_close leave_group_on_close": "close() leaves the group; a static member stays",
    "max_in_flight_requests_per_connection": "one fetch at a time goes to each leader",
    "metadata_recovery_strategy metadata_recovery_rebootstrap_trigger_ms": "the bootstrap servers are always tried too",
    "sasl_mechanism sasl_jaas_config sasl_plain_username sasl_plain_password sasl_kerberos_service_name "
    "sasl_kerberos_domain_name sasl_kerberos_name sasl_oauth_token_provider": _SECURITY,
    "security_protocol security_providers": _SECURITY,
    "selector": "the runtime brings threads, clock and waiting",
    "sock_chunk_bytes sock_chunk_buffer_count": "received bytes go into one buffer for each answer",
    "socket_connection_setup_timeout_max_ms": "the limit does not grow: set socket_connection_setup_timeout_ms",
    "socket_options": "set receive_buffer_bytes and send_buffer_bytes",
    "socks5_proxy": "connections go straight to the brokers",
    "ssl_context ssl_check_hostname ssl_cafile ssl_certfile ssl_keyfile ssl_password ssl_crlfile": _SECURITY,
}
REFUSED: Final[Mapping[str, str]] = {name: why for names, why in _REASONS.items() for name in names.split()}
"""Why a setting that others have does not exist here."""

_HARMLESS: Final[Mapping[str, object]] = {"group_protocol": "classic", "security_protocol": "PLAINTEXT"}
"""The one value of a setting that says what is so anyway."""


def is_harmless(name: str, value: object) -> bool:
    """Whether this setting only says what is so anyway, so that it may be given, and left out."""
    return name in _HARMLESS and isinstance(value, str) and value.upper() == str(_HARMLESS[name]).upper()


def objection(name: str, known: Iterable[str]) -> str:
    """What is wrong with a setting that does not exist, and which one was meant."""
    underscored = str(name).replace(".", "_").lower()
    names = sorted(known)
    if underscored in names:
        return f"no such setting: {name!r}; write {underscored}"
    if underscored in REFUSED:
        return f"{name!r} is not offered: {REFUSED[underscored]}"
    nearest = get_close_matches(underscored, [*names, *REFUSED], n=1, cutoff=0.6)
    if nearest and nearest[0] in names:
        return f"no such setting: {name!r}; did you mean {nearest[0]}?"
    return f"no such setting: {name!r}; there are {', '.join(names)}"
