"""Is a harness itself right? Judged alone, before any client is judged by it (`groupspec harness check`)."""

from groupspec.conformance.wire.harness_check.checks import CHECKS, Check
from groupspec.conformance.wire.harness_check.report import Checked, check_harness

__all__ = ["CHECKS", "Check", "Checked", "check_harness"]
