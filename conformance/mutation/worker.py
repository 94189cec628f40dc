"""One process of the kill matrix: told breakers' ids, it says for each which checks go red, a line of JSON each.

Every breaker gets a child of its own, forked from this process, so that nothing of it is left for the next one: no
replaced function, no thread that hangs in a story which could not end. This process has only one thread.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
import traceback
from pathlib import Path
from typing import Final

from groupspec.conformance.mutation.catalogue import BREAKERS
from groupspec.conformance.mutation.stories import Story, failure, stories

MAX_S: Final = 60.0
"""For all checks of one breaker, which take about a second: the breaker hangs in one of them. It is to be written anew.
"""

GREEN: Final = "-"
"""Instead of a breaker's id: none is put in, and every check has to be green."""

OURS: Final = str(Path(__file__).resolve().parent)
DEFECTS: Final = (NameError, TypeError, ImportError)
"""What a broken promise never looks like: a breaker that raises these, wherever it is, is broken itself."""

DEFECTS_INSIDE: Final = (AttributeError, LookupError, StopIteration, ValueError)
"""The same for what a breaker's own lines raise."""


def main() -> int:
    """Reads ids from the command line; writes {"breaker", "red": [check], "defect": text} for each."""
    known = stories()
    for identifier in sys.argv[1:]:
        print(json.dumps({"breaker": identifier, **_in_a_child(identifier, known)}), flush=True)
    return 0


def _in_a_child(identifier: str, known: dict[str, Story]) -> dict[str, object]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            json.dump(_result(identifier, known), pipe)
        os._exit(0)  # threads of stories that broke off are still there, and nobody is to wait for them
    os.close(writer)
    try:
        text = _read(reader)
    except TimeoutError as problem:
        os.kill(child, 9)
        return {"red": [], "defect": str(problem)}
    finally:
        os.close(reader)
        os.waitpid(child, 0)
    found: dict[str, object] = json.loads(text) if text else {"red": [], "defect": "its process died"}
    return found


def _read(reader: int) -> str:
    """All that comes, in bounded time."""
    end = time.monotonic() + MAX_S
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError(f"one of the checks has not ended after {MAX_S:.0f} s")
        part = os.read(reader, 65_536)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


def _result(identifier: str, known: dict[str, Story]) -> dict[str, object]:
    try:
        if identifier != GREEN:
            BREAKERS[identifier].put_in()
    except Exception as problem:
        return {"red": [], "defect": f"it can't be put in: {problem!r}"}
    red: list[str] = []
    of_spec = identifier != GREEN and BREAKERS[identifier].of_spec
    for story in known.values():
        if identifier != GREEN and story.of_spec is not of_spec:
            continue
        broken = failure(story)
        if broken is None:
            continue
        red.append(story.id)
        if _is_defect(broken):
            return {"red": red, "defect": "".join(traceback.format_exception(broken)[-6:])}
    return {"red": red, "defect": ""}


def _is_defect(broken: BaseException) -> bool:
    """Whether it is the breaker's own code that went wrong, and not the promise."""
    frames = traceback.extract_tb(broken.__traceback__)
    inside = bool(frames) and str(Path(frames[-1].filename).resolve()).startswith(OURS + os.sep + "catalogue")
    return isinstance(broken, DEFECTS) or (inside and isinstance(broken, DEFECTS_INSIDE))


if __name__ == "__main__":
    sys.exit(main())
