"""Every file that is generated: where it lies, who makes it, and when it is stale.

One list, `generated_files()`. A part that generates something adds its own to it, and `groupspec generate` writes it,
`groupspec generate --check` compares it, and a test does the same. Nothing generated is edited by hand. What few people
read is not committed, only its hash is (`generated/hashes.json`): a changed row touches one line there, and no hundred
files.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from groupspec import conformance, diagrams
from groupspec.conformance import tour
from groupspec.conformance.engines import counts as model_counts
from groupspec.conformance.engines.texts import COMMITTED, model_texts
from groupspec.conformance.findings import runs
from groupspec.conformance.judges import judges_markdown
from groupspec.conformance.mutation import files as mutation_files
from groupspec.conformance.mutation.matrix import kill_matrix
from groupspec.conformance.scores import files as score_files
from groupspec.conformance.scores.page import scores_markdown
from groupspec.conformance.stateful import feasible
from groupspec.conformance.stateful.routes import MEMBER
from groupspec.conformance.vectors import making
from groupspec.conformance.vectors.schema import SCHEMA
from groupspec.conformance.vectors.subjects import SUBJECTS
from groupspec.diagrams.expiry import boundary_svg, expiry_markdown
from groupspec.diagrams.files import svg, svg_is_current
from groupspec.diagrams.matrix import matrix_markdown
from groupspec.diagrams.state_diagram import dot
from groupspec.spec.compiler import REBALANCES, TABLE_SCHEMA, Table, table_data
from groupspec.spec.compiler.tables import each_table
from groupspec.spec.expiry.theorems import THEOREMS

MUTATION: Final = "generated/mutation.json"

SCORES: Final = "generated/scores.json"

Folder: TypeAlias = Literal["conformance", "diagrams"]


@dataclass(frozen=True)
class GeneratedFile:
    """One generated file.

    Attributes:
        folder: Which of the top folders it lies in.
        name: Its path in that folder. One that ends in `.gz` is compressed; its text is what it says before that.
        produce: Makes its text.
        is_current: Whether a text that lies there is what it should be. None: it must equal what `produce` makes.
        reasons: Why a text that lies there is not what it should be, where that is more than "it differs".
        committed: Whether the file is; otherwise its hash.
    """

    folder: Folder
    name: str
    produce: Callable[[], str]
    is_current: Callable[[str], bool] | None = None
    reasons: Callable[[str], list[str]] | None = None
    committed: bool = True

    @property
    def path(self) -> str:
        """As it is named to a reader: from the top of the repository."""
        return f"{self.folder}/{self.name}"

    @property
    def is_compressed(self) -> bool:
        """Whether it lies there compressed. Compressors differ, so only what comes out is compared."""
        return self.name.endswith(".gz")

    def data(self) -> bytes:
        """What is written: the text, compressed if the name says so."""
        text = self.produce().encode()
        return gzip.compress(text, mtime=0) if self.is_compressed else text

    def file(self) -> Path:
        """Where it lies. An installed tree links to the sources: what is written belongs to those."""
        return folder_path(self.folder) / self.name

    def stale(self) -> bool:
        """Whether the file is missing or not what it should be."""
        try:
            raw = self.file().read_bytes()
            text = (gzip.decompress(raw) if self.is_compressed else raw).decode()
        except (OSError, EOFError, zlib.error, UnicodeDecodeError):
            return True
        return not self.is_current(text) if self.is_current else text != self.produce()

    def why(self) -> list[str]:
        """Why it is stale, where there is more to say than that."""
        if self.reasons is None or not self.file().is_file():
            return []
        return self.reasons(self.file().read_text(encoding="utf-8", errors="replace"))


def folder_path(folder: Folder) -> Path:
    """Where one of the top folders really lies, links followed."""
    package = conformance if folder == "conformance" else diagrams
    assert package.__file__ is not None
    return Path(package.__file__).resolve().parent


def generated_files() -> Iterator[GeneratedFile]:
    """Every generated file."""
    yield GeneratedFile("conformance", "generated/hashes.json", _hashes, reasons=_other_hashes)
    yield from _hashed_files()
    for table in each_table():
        name = f"generated/{table.label}.svg"
        yield GeneratedFile("diagrams", name, partial(_svg, table), partial(_svg_is_current, table))
        yield GeneratedFile("diagrams", f"generated/{table.label}.md", partial(matrix_markdown, table))
    yield GeneratedFile("conformance", "generated/tables/schema.json", _table_schema)
    yield GeneratedFile("conformance", "generated/expiry.md", expiry_markdown)
    yield GeneratedFile("conformance", "generated/judges.md", judges_markdown)
    for path in tour.PATHS:
        yield GeneratedFile("diagrams", f"generated/tour/{path}.svg", partial(tour.tour_svg, path))
    for theorem in THEOREMS.values():
        yield GeneratedFile("diagrams", f"generated/time/{theorem.id}.svg", partial(boundary_svg, theorem))
    for model, name, produce in model_texts():
        if model == COMMITTED:
            yield GeneratedFile("conformance", name, produce)
    yield GeneratedFile("conformance", MODELS, _models, model_counts.is_current)
    yield GeneratedFile("conformance", MODELS.replace(".json", ".md"), _models_page)
    for run in runs.runs():
        found = f"generated/findings/{run.name}"
        yield GeneratedFile(
            "conformance", f"{found}.json", partial(runs.run_text, run), partial(runs.run_is_current, run)
        )
        is_current = partial(runs.vectors_are_current, run)
        yield GeneratedFile("conformance", f"{found}.vectors.ndjson", partial(runs.run_vectors, run), is_current)
        yield GeneratedFile("diagrams", f"{found}.svg", partial(runs.run_svg_text, run))
    yield GeneratedFile("conformance", MUTATION, _mutation, mutation_files.is_current, mutation_files.problems)
    yield GeneratedFile("conformance", MUTATION.replace(".json", ".md"), _mutation_markdown)
    if score_files.COMMITTED.is_file():  # takes many minutes: `verify --scores` makes the first one
        yield GeneratedFile("conformance", SCORES, _scores, score_files.is_current, score_files.problems)
        yield GeneratedFile("conformance", SCORES.replace(".json", ".md"), _scores_markdown)
    for target in (MEMBER, "subscription"):
        for rebalance in REBALANCES:
            name = f"generated/feasible/{target}.{rebalance}.deployed.json"
            is_current = partial(feasible.is_current, target, rebalance)
            yield GeneratedFile("conformance", name, partial(feasible.feasible_text, target, rebalance), is_current)
    yield GeneratedFile("conformance", "vectors/data/schema.json", partial(_json, SCHEMA))
    for subject in SUBJECTS:
        for rebalance in subject.rebalances:
            # Made from the tables in some ten seconds; whether that is due is told by their hash.
            produce = partial(making.vectors_text, subject, rebalance)
            is_current = partial(making.is_current, subject, rebalance)
            name = f"vectors/data/{making.file_name(subject, rebalance)}"
            yield GeneratedFile("conformance", name, produce, is_current)


def _hashed_files() -> Iterator[GeneratedFile]:
    """Those that are not committed."""
    for table in each_table():
        name = f"generated/tables/{table.label}.json"
        yield GeneratedFile("conformance", name, partial(_table, table), committed=False)
        yield GeneratedFile("diagrams", f"generated/{table.label}.dot", partial(dot, table), committed=False)
    for model, name, produce in model_texts():
        if model != COMMITTED:
            yield GeneratedFile("conformance", name, produce, committed=False)


def _hashes() -> str:
    return _json({file.path: hashlib.sha256(file.data()).hexdigest() for file in _hashed_files()})


def _other_hashes(text: str) -> list[str]:
    """Which files have another hash than a text that lies there says."""
    try:
        there, made = json.loads(text), json.loads(_hashes())
    except json.JSONDecodeError as problem:
        return [f"it is no JSON: {problem}"]
    return [f"the hash of {path}" for path in sorted({*there, *made}) if there.get(path) != made.get(path)]


MODELS = "generated/models.json"


def _models() -> str:
    return model_counts.text(model_counts.counts(model_counts.recorded(folder_path("conformance") / MODELS)))


def _models_page() -> str:
    return model_counts.page(list(model_counts.recorded(folder_path("conformance") / MODELS).values()))


def unexpected_files() -> list[str]:
    """Files in the folders of generated ones that nobody generates: left behind by a name that changed."""
    known = {generated.file() for generated in generated_files()}
    folders = {file.parent for file in known}
    found = [file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file()]
    return sorted(str(file) for file in found if file not in known)


def _svg(table: Table) -> str:
    return svg(dot(table))


def _svg_is_current(table: Table, text: str) -> bool:
    return svg_is_current(text, dot(table))


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _table(table: Table) -> str:
    return _json({**table_data(table), "sha256": table.hash})


def _table_schema() -> str:
    schema = dict(TABLE_SCHEMA)
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    digest = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    return _json({**schema, "properties": {**properties, "sha256": digest}, "required": [*required, "sha256"]})


def _mutation() -> str:
    """Takes some minutes: every mutant against every test."""
    return mutation_files.matrix_text(mutation_files.matrix_data(kill_matrix()))


def _mutation_markdown() -> str:
    """Of the matrix that is committed, so that the two can't tell different things."""
    file = folder_path("conformance") / MUTATION
    return mutation_files.matrix_markdown(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else ""


def _scores() -> str:
    """Takes many minutes: every mutant of the specification against its properties, in each model that has changed."""
    return score_files.scores_text(score_files.computed(known=score_files.committed()))


def _scores_markdown() -> str:
    file = folder_path("conformance") / SCORES
    return scores_markdown(score_files.read_scores(file.read_text(encoding="utf-8"))) if file.is_file() else ""
