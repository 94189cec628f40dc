"""Whatever settings are given: either a core begins with them, or what is wrong is said by the setting's name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.core.config import INT32_MAX, Config
from groupspec.impl.core.core import Core
from groupspec.impl.core.errors import ConfigError
from groupspec.impl.core.events import Start
from groupspec.impl.core.other_settings import REFUSED
from groupspec.impl.core.subscription import SubscriptionState

NAMES: Final = tuple(one.name for one in fields(Config))
NO_NAMES: Final = tuple(sorted(REFUSED))
TYPING_ERRORS: Final = ("group.id", "sesion_timeout_ms", "xyzzy")
VALUES: Final[tuple[object, ...]] = (
    *(None, True, False, -2, -1, 0, 1, 5_000, 30_000, INT32_MAX, INT32_MAX + 1, 0.5, "", "billing", "a b"),
    *("earliest", "none", "by_duration:P1DT2H3M4.5S", "by_duration:soon", "by_duration:P", "read_committed"),
    *((), ("range",), ["range", "sticky"], ("cooperative-sticky",), ("range", "range"), ("unheard-of",), ([],)),
    *("classic", "PLAINTEXT", "SSL"),
)
TEXTS: Final = (
    "partition_assignment_strategy",
    "auto_offset_reset",
    "isolation_level",
    "group_id",
    "group_instance_id",
)
names = st.one_of(*(st.sampled_from(some) for some in (TEXTS, NAMES, NO_NAMES, TYPING_ERRORS)))
some = st.dictionaries(names, st.sampled_from(VALUES), max_size=3)
consistent = st.fixed_dictionaries(
    {},
    optional={
        "group_id": st.sampled_from((None, "billing")),
        "group_instance_id": st.sampled_from((None, "one")),
        "session_timeout_ms": st.sampled_from((10_000, 45_000)),
        "max_poll_interval_ms": st.sampled_from((20_000, 300_000, INT32_MAX)),
        "fetch_max_wait_ms": st.sampled_from((500, 60_000)),
        "retry_backoff_ms": st.sampled_from((100, 5_000)),
        "auto_offset_reset": st.sampled_from(("latest", "by_duration:P1D")),
    },
)
STRATEGIES: Final[tuple[object, ...]] = (["range", "sticky"], ("range", "range"), ("unheard-of",), ([],), ())
together: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {},
    optional={
        "partition_assignment_strategy": st.sampled_from(STRATEGIES),
        "auto_offset_reset": st.sampled_from(("none", "by_duration:P1D", "by_duration:soon")),
        "group_id": st.sampled_from(("", "billing")),
        "heartbeat_interval_ms": st.sampled_from((3_000, 30_000)),
        "session_timeout_ms": st.sampled_from((10_000, 30_000, 45_000)),
    },
)


@given(st.tuples(some, together).map(lambda both: both[0] | both[1]), consistent)
def test_a_core_begins_or_the_setting_that_is_wrong_is_named(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    chosen = right | wrong
    try:
        config = Config.of(chosen)  # type: ignore[arg-type]
    except ConfigError as error:
        assert any(name in str(error) for name in wrong)  # noqa: PT017  (either outcome is right)
        return
    for name, value in chosen.items():
        kept = getattr(config, name, value)
        assert kept == (tuple(value) if isinstance(value, list) else value)
    assert config.join_group_timeout_ms >= config.request_timeout_ms
    assert config.reset_age_ms is None or config.auto_offset_reset.startswith("by_duration:")
    assert all("=" in doubt for doubt in config.doubts)
    Core(config, SubscriptionState()).handle(Start(), 0)
