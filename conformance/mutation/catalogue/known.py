"""The mutants of the wire kit, which its scenarios notice, are breakers too.

The quick checks have to notice them as well.
"""

from __future__ import annotations

from groupspec.conformance.mutation.catalogue.on_the_wire import MUTANTS
from groupspec.conformance.mutation.mutant import BREAKERS, Breaker

BREAKERS.update({one.id: Breaker(one.id, one.breaks, one.what, one.put_in) for one in MUTANTS.values()})
