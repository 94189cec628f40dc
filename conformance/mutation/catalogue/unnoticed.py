"""Mutants of the reference that no general check notices, and why: what they break has no visible effect there.

A check that is written for no bug in particular sees what a consumer sends, returns and raises. Where the reference
keeps a rule in two places, a mutant of one of them changes none of that. Each entry is shown by
`groupspec test --mutants` in the place of `NOT NOTICED`; a mutant that only needs a rarer schedule has none.
"""

from __future__ import annotations

from typing import Final

UNNOTICED: Final[dict[str, str]] = {
    "T2-unguarded": "The scheduler stops threads at locks: without the lock the sections that it guards are one step.",
    "T3-twice": "Nothing in the reference completes a future twice, so what a second outcome would do is never seen.",
    "L4-second-close": "Consumer.close() lets one thread through; the core never gets a second Close.",
    "K3-ties-count": "What two members claim is withheld in any case; who of them has it afterwards is nobody's right.",
    "L4-network-first": "Once closed, the client that both threads of the heartbeat design share does nothing.",
    "P1-heartbeat-first": "A Heartbeat in the look that ends the poll interval may have waited since the one before.",
    "Q6-fetch-first": "What stays is fetched a moment sooner; what a callback is about is not fetched before it.",
    "BUG-05": "A request that fails never sends another one by itself: that comes after all of them have failed.",
}
"""Mutant -> why it is not noticed, in a sentence."""
