"""The pages of the models: the list, how many states each has, who sends what to whom, what its actions do."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache

from groupspec.conformance.book.claims import by_kind
from groupspec.conformance.book.page import Page, page
from groupspec.conformance.engines.counts import LEFT_OUT, Count, recorded
from groupspec.conformance.engines.texts import MAX_MEMBERS
from groupspec.conformance.explain.addresses import address
from groupspec.conformance.explain.lab import claims
from groupspec.conformance.scores.files import COMMITTED
from groupspec.spec import composition
from groupspec.spec.compiler.model import Action, Block, Call, For, If, Model, Set
from groupspec.spec.compiler.tla_text import module_name


@cache
def models() -> Mapping[str, Model]:
    """Every model of the catalogue by its name."""
    return {name: make() for name, make in composition.models().items()}


@cache
def _counted() -> Mapping[str, Count]:
    """What the explorer has counted, by model, as it is committed; nothing where nothing is."""
    found = recorded(COMMITTED.with_name("models.json"))
    return {name: count for name, count in found.items() if count.counted}


def _remark(model: Model) -> str:
    """What must be known of a model's count besides the numbers."""
    count = _counted()[model.name]
    told = [] if count.complete else ["stopped at a limit: there are more"]
    told += ["members folded"] if count.folded else []
    told += ["counted before the model changed last"] if count.counted != model.hash else []
    return "; ".join(told)


def pages() -> Iterator[Page]:
    """The catalogue, a page for each model."""
    return composition_pages(models())


def composition_pages(catalogue: Mapping[str, Model]) -> Iterator[Page]:
    """The pages of these models."""
    about = inspect.cleandoc(composition.__doc__ or "").split("\n\n")
    yield page(
        "composition",
        "Models",
        families=families(catalogue),
        messages=messages(catalogue),
        count=len(catalogue),
        intro="\n\n".join(each for each in about if not each.startswith("`models()`")),
        features=composition.features(),
        counts=_counted(),
        remark=_remark,
        left_out=LEFT_OUT.removeprefix("Left out: "),
    )
    for model in catalogue.values():
        procedures = address("model", f"{model.name}-procedures")
        if model.procedures:
            bodies = [(procedure, code(procedure.body)) for procedure in model.procedures]
            yield page("procedures", f"Procedures of {model.name}", procedures, model=model, procedures=bodies)
        yield page(
            "model",
            model.name,
            address("model", model.name),
            model=model,
            doc=model.doc,
            texts=_texts(model),
            count=_counted().get(model.name),
            remark=_remark,
            features={name: composition.features()[name] for name in sorted(model.scope.features)},
            arrows=[(action, *action.arrow) for action in model.actions if any(action.arrow)],
            actions=[(action, code(action.body)) for action in model.actions],
            procedures_page=procedures if model.procedures else "",
            claims=by_kind(claims({model.name: model})),
        )


def families(catalogue: Mapping[str, Model]) -> list[tuple[str, str, list[Model]]]:
    """Models that one text is about: (its first line, the rest of it, the models)."""
    found: dict[str, list[Model]] = {}
    for model in catalogue.values():
        found.setdefault(inspect.cleandoc(model.doc), []).append(model)
    return [(" ".join(doc.partition("\n\n")[0].split()), doc.partition("\n\n")[2], each) for doc, each in found.items()]


def messages(catalogue: Mapping[str, Model]) -> list[tuple[str, str, str, list[str]]]:
    """Who sends what to whom: (from, to, what, the models in which that happens; none if in all that have messages)."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for model in catalogue.values():
        for arrow in dict.fromkeys(action.arrow for action in model.actions if any(action.arrow)):
            found.setdefault(arrow, []).append(model.name)
    everywhere = {name for names in found.values() for name in names}
    return [(*arrow, [] if set(names) == everywhere else names) for arrow, names in found.items()]


def _texts(model: Model) -> tuple[str, ...]:
    """Where `groupspec generate` writes the same model for other engines."""
    if model.name not in models() or model.sizes["members"] > MAX_MEMBERS:
        return ()
    return f"conformance/generated/tla/{module_name(model)}.tla", f"conformance/generated/promela/{model.name}.pml"


# Actions --------------------------------------------------------------------------------------------------------------


def guard_of(action: Action) -> str:
    """When an action can happen, without what all of them demand: that no assertion has failed yet."""
    return action.guard.removeprefix("fault == 'none' and ")


def parameters(action: Action) -> str:
    """`i in members, p in partitions`."""
    return ", ".join(f"{name} in {over}" for name, over in action.parameters)


def code(block: Block) -> str:
    """A body, to be read: one line a statement; what is assigned in one line is assigned at once."""
    return "\n".join(_lines(block, ""))


def _lines(block: Block, space: str) -> Iterator[str]:
    for statement in block:
        match statement:
            case Set(assignments=assignments, note=note):
                yield space + "; ".join(f"{target} := {value}" for target, value in assignments) + _note(note)
            case If(branches=branches, otherwise=otherwise, notes=notes):
                said = (*notes, *[""] * (len(branches) + 1))
                for place, (condition, body) in enumerate(branches):
                    yield f"{space}{'elif' if place else 'if'} {condition}:{_note(said[place])}"
                    yield from _lines(body, space + "    ")
                if otherwise:
                    yield f"{space}else:{_note(said[len(branches)])}"
                    yield from _lines(otherwise, space + "    ")
            case For(index=index, over=over, body=body):
                yield f"{space}for {index} in {over}:"
                yield from _lines(body, space + "    ")
            case Call(procedure=procedure, arguments=arguments):
                yield f"{space}{procedure}({', '.join(arguments)})"


def _note(note: str) -> str:
    return f"  # {note}" if note else ""
