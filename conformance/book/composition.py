"""The pages of the composition: each model, how many states it has, and who sends what to whom in it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from groupspec import conformance
from groupspec.conformance.book.claims import by_kind, claim, models
from groupspec.conformance.book.listing import code
from groupspec.conformance.book.page import Page
from groupspec.conformance.engines.counts import LEFT_OUT, Count, recorded
from groupspec.conformance.engines.texts import MAX_MEMBERS
from groupspec.conformance.explain import addresses
from groupspec.spec import composition
from groupspec.spec.compiler.model import Action, Model
from groupspec.spec.compiler.tla import module_name


def pages() -> Iterator[Page]:
    """The catalogue, a page for each model."""
    return composition_pages(models(), composition)


@cache
def counted() -> Mapping[str, Count]:
    """What the explorer has counted, by model, as it is committed; nothing where nothing is."""
    return recorded(Path(conformance.__path__[0]) / "generated" / "models.json")


def remark(model: Model) -> str:
    """What must be known of a model's count besides the numbers."""
    count = counted()[model.name]
    told = [] if count.complete else ["stopped at a limit: there are more"]
    told += ["members folded"] if count.folded else []
    told += ["counted before the model changed last"] if count.counted != model.hash else []
    return "; ".join(told)


def composition_pages(catalogue: Mapping[str, Model], module: ModuleType | None = None) -> Iterator[Page]:
    """The pages of these models; `module` is what tells about them as a whole."""
    if not catalogue:
        return
    counts = {
        name: counted()[name] for name, model in catalogue.items() if name in counted() and counted()[name].counted
    }
    features = module.features() if module else {}
    yield Page(
        "composition.html",
        "Models of whole groups",
        "composition",
        "composition",
        {
            "families": families(catalogue),
            "messages": messages(catalogue),
            "count": len(catalogue),
            "intro": _about_all(module),
            "features": features,
            "counts": counts,
            "remark": remark,
            "left_out": LEFT_OUT.removeprefix("Left out: ") if module else "",
        },
    )
    for model in catalogue.values():
        procedures = addresses.model(f"{model.name}-procedures")
        if model.procedures:
            bodies = [(procedure, code(procedure.body)) for procedure in model.procedures]
            context = {"model": model, "procedures": bodies}
            yield Page(procedures, f"Procedures of {model.name}", "composition", "procedures", context)
        yield Page(
            addresses.model(model.name),
            model.name,
            "composition",
            "model",
            {
                "model": model,
                "doc": _whole_doc(model),
                "texts": _texts(model),
                "count": counts.get(model.name),
                "remark": remark,
                "features": {name: features[name] for name in sorted(model.scope.features)},
                "arrows": [(action, *action.arrow) for action in model.actions if any(action.arrow)],
                "actions": [(action, code(action.body)) for action in model.actions],
                "procedures_page": procedures if model.procedures else "",
                "claims": by_kind([claim(stated, [model.name]) for stated in model.properties]),
            },
        )


def families(catalogue: Mapping[str, Model]) -> list[tuple[str, str, list[Model]]]:
    """Models that one text is about: (its first line, the rest of it, the models)."""
    found: dict[str, list[Model]] = {}
    for model in catalogue.values():
        found.setdefault(inspect.cleandoc(_whole_doc(model)), []).append(model)
    return [(" ".join(doc.partition("\n\n")[0].split()), doc.partition("\n\n")[2], each) for doc, each in found.items()]


def messages(catalogue: Mapping[str, Model]) -> list[tuple[str, str, str, list[str]]]:
    """Who sends what to whom: (from, to, what, the models in which that happens; none if in all that have messages)."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for model in catalogue.values():
        for arrow in dict.fromkeys(action.arrow for action in model.actions if any(action.arrow)):
            found.setdefault(arrow, []).append(model.name)
    everywhere = {name for names in found.values() for name in names}
    return [(*arrow, [] if set(names) == everywhere else names) for arrow, names in found.items()]


def guard_of(action: Action) -> str:
    """When an action can happen, without what all of them demand: that no assertion has failed yet."""
    return action.guard.removeprefix("fault == 'none' and ")


def _about_all(module: ModuleType | None) -> str:
    """What the module says, less what it says to programmers."""
    paragraphs = inspect.cleandoc((module.__doc__ or "") if module else "").split("\n\n")
    return "\n\n".join(each for each in paragraphs if not each.startswith("`models()`"))


def _whole_doc(model: Model) -> str:
    return model.doc or "No text says what this is a model of."


def _texts(model: Model) -> tuple[str, ...]:
    """Where `groupspec generate` writes the same model for other engines."""
    if model.name not in models() or model.sizes["members"] > MAX_MEMBERS:
        return ()
    return f"conformance/generated/tla/{module_name(model)}.tla", f"conformance/generated/promela/{model.name}.pml"


def parameters(action: Action) -> str:
    """`i in members, p in partitions`."""
    return ", ".join(f"{name} in {over}" for name, over in action.parameters)
