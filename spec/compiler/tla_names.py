"""What a model's parts are called in its TLA+ module: operators have one name space, models have several."""

from __future__ import annotations

from groupspec.spec.compiler.model import Action, Model

RESERVED = frozenset(
    {"Init", "Next", "Spec", "FairSpec", "Fairness", "TypeOK", "Watch", "Members", "Partitions"}
    | {"Nat", "Assert", "Print", "PrintT", "TLCGet", "TLCSet", "Permutations", "SortSeq", "RandomElement", "Any"}
    | {"ToString", "JavaTime", "TLCEval"}
    | {"LiveInit", "LiveNext", "LiveSpec", "LiveFairness", "Settle"}
)
"""What the modules themselves define, and what the modules that they extend do."""

Names = dict[tuple[str, str], str]
"""(kind, name) to what it is called; kinds: `procedure`, `action`, `property`; of an action also `guard` and `live`."""


def module_name(model: Model) -> str:
    """The module's name: letters, digits and underscores; never empty or a number."""
    return _camel(model.name)


def live_module_name(model: Model) -> str:
    """The name of the module that liveness is checked with."""
    return f"{module_name(model)}Live"


def has_possible(model: Model, action: Action) -> bool:
    """Whether the action's guard is an operator of its own: where weak fairness is to be said of it."""
    return action.fair == "weak" and any(claim.kind == "leads_to" for claim in model.properties)


def operator_names(model: Model) -> Names:
    """What each procedure, action and property is called: a name that nothing else has."""
    wanted = [
        *(("procedure", procedure.name, _camel(procedure.name)) for procedure in model.procedures),
        *(("action", action.name, _camel(action.name)) for action in model.actions),
        *(("property", claim.id, _camel(claim.id)) for claim in model.properties),
        *(("guard", action.name, f"{_camel(action.name)}Possible") for action in model.actions),
        *(("live", action.name, f"Live{_camel(action.name)}") for action in model.actions),
    ]
    taken = set(RESERVED)
    names: Names = {}
    for kind, name, written in wanted:
        if written in taken:
            written += {"procedure": "Body", "property": "Property"}.get(kind, "Action")
        while written in taken:
            written += "_"
        taken.add(written)
        names[kind, name] = written
    return names


def _camel(name: str) -> str:
    words = name.replace("-", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words)
