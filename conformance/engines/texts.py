"""The models as TLA+ and Promela: for readers, and for who has TLC or SPIN.

One of them is committed, to be read; of the others the hashes, and `groupspec generate` writes them. Groups of three
members are left out: their texts say the same with other numbers, and are made when they are needed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator
from functools import cache, partial

from groupspec.spec import composition
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.promela import promela
from groupspec.spec.compiler.tla import tla, tla_config
from groupspec.spec.compiler.tla_liveness import tla_liveness, tla_liveness_config
from groupspec.spec.compiler.tla_text import live_module_name, module_name

MAX_MEMBERS = 2
COMMITTED = "base-eager-deployed-2"
"""The model whose texts are committed."""


def model_texts(pattern: str = "*") -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Each file of the models whose names match: model, path in `conformance`, and what makes its text."""
    for name in fnmatch.filter(composition.models(), pattern):
        model = composition.models()[name]
        if model.scope.family == "base" and model.members > MAX_MEMBERS:
            continue
        module = f"generated/tla/{module_name(model)}"
        yield name, f"{module}.tla", partial(_text, tla, name)
        yield name, f"{module}.cfg", partial(_text, tla_config, name)
        if any(claim.kind == "leads_to" for claim in model.properties):
            live = f"generated/tla/{live_module_name(model)}"
            yield name, f"{live}.tla", partial(_text, tla_liveness, name)
            yield name, f"{live}.cfg", partial(_text, tla_liveness_config, name)
        yield name, f"generated/promela/{name}.pml", partial(_text, promela, name)


@cache
def _text(write: Callable[[Model], str], name: str) -> str:
    return write(composition.models()[name]())
