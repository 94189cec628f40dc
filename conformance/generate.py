"""Every file that is generated: where it lies, who makes it, and when it is stale.

`groupspec generate` writes the files of `generated_files()`; `groupspec generate --check` and a test compare them. What
few people read is not committed, only its hash is (`generated/hashes.json`): a changed row touches one line there, and
no hundred files.
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
from typing import Final

from groupspec.conformance import tour
from groupspec.conformance.engines import counts as model_counts
from groupspec.conformance.engines.texts import COMMITTED, model_texts
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.findings import runs
from groupspec.conformance.judges import judges_markdown
from groupspec.conformance.mutation import matrix as mutation_matrix
from groupspec.conformance.scores import files as score_files
from groupspec.conformance.scores.files import scores_markdown
from groupspec.conformance.stateful import feasible
from groupspec.conformance.stateful.routes import MEMBER
from groupspec.conformance.vectors import making
from groupspec.conformance.vectors.schema import SCHEMA
from groupspec.conformance.vectors.subjects import SUBJECTS
from groupspec.conformance.wire import docket_page
from groupspec.conformance.wire_holes import table as wire_holes
from groupspec.conformance.wire_kills import matrix as wire_kills
from groupspec.conformance.wire_kills import quick
from groupspec.conformance.wire_kills.page import matrix_markdown as wire_kills_markdown
from groupspec.diagrams.expiry import boundary_svg, expiry_markdown
from groupspec.diagrams.files import svg, svg_is_current
from groupspec.diagrams.matrix import matrix_markdown
from groupspec.diagrams.state_diagram import dot
from groupspec.spec.compiler import REBALANCES, TABLE_SCHEMA, Table, table_data
from groupspec.spec.compiler.tables import each_table
from groupspec.spec.expiry.theorems import THEOREMS

ROOT: Final = Path(__file__).resolve().parents[1]
"""The top of the repository, also from an install that links to the sources."""
HASHES: Final = "conformance/generated/hashes.json"
MODELS: Final = "conformance/generated/models.json"
MUTATION: Final = "conformance/generated/mutation.json"
WIRE_KILLS: Final = "conformance/generated/wire_kills.json"
WIRE_HOLES: Final = "conformance/generated/wire_holes.json"
QUICK: Final = "conformance/wire/quick/cases.json"
SCORES: Final = "conformance/generated/scores.json"


@dataclass(frozen=True)
class GeneratedFile:
    """One generated file.

    Attributes:
        path: From the top of the repository. One that ends in `.gz` is compressed.
        produce: Makes its text.
        problems: Why a text that lies there is not what it should be; empty if it is. None: it must equal what
            `produce` makes.
        committed: Whether the file is; otherwise its hash.
    """

    path: str
    produce: Callable[[], str]
    problems: Callable[[str], list[str]] | None = None
    committed: bool = True

    def data(self) -> bytes:
        """What is written: the text, compressed if the name says so."""
        text = self.produce().encode()
        return gzip.compress(text, mtime=0) if self.path.endswith(".gz") else text

    def file(self) -> Path:
        """Where it lies."""
        return ROOT / self.path

    def stale(self) -> list[str]:
        """Why it is not what it should be; empty if it is. Compressors differ: only what comes out is compared."""
        try:
            raw = self.file().read_bytes()
            text = (gzip.decompress(raw) if self.path.endswith(".gz") else raw).decode()
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as problem:
            return [f"it cannot be read: {problem}"]
        if self.problems is not None:
            return self.problems(text)
        return [] if text == self.produce() else ["it is not what is generated now"]


def _asked(is_current: Callable[..., bool], *source: object) -> Callable[[str], list[str]]:
    """Of a file that says what it was made from; making it anew to compare it takes too long."""
    return lambda text: [] if is_current(*source, text) else ["what it was made from has changed"]


def _page(path: str, page: Callable[[str], str]) -> GeneratedFile:
    """A JSON file as a page, made from what is committed, so that the two cannot tell different things."""
    file = ROOT / path
    return GeneratedFile(
        path.replace(".json", ".md"), lambda: page(file.read_text(encoding="utf-8")) if file.is_file() else ""
    )


def generated_files() -> Iterator[GeneratedFile]:
    """Every generated file."""
    yield GeneratedFile(HASHES, _hashes, _other_hashes)
    yield from _hashed_files()
    yield from _pictures()
    yield GeneratedFile("conformance/generated/tables/schema.json", _table_schema)
    yield GeneratedFile("conformance/generated/expiry.md", expiry_markdown)
    yield GeneratedFile("conformance/generated/judges.md", judges_markdown)
    yield GeneratedFile(docket_page.PAGE, docket_page.clients_markdown)
    yield GeneratedFile("README.md", lambda: docket_page.in_readme((ROOT / "README.md").read_text(encoding="utf-8")))
    yield from model_files(COMMITTED)
    yield GeneratedFile(MODELS, _models, _asked(model_counts.is_current))
    yield _page(MODELS, lambda _: model_counts.page(list(model_counts.recorded(ROOT / MODELS).values())))
    yield from _findings()
    # These two take minutes: every mutant against every test, or against every property of the models it changes.
    yield GeneratedFile(MUTATION, _mutation, mutation_matrix.problems)
    yield _page(MUTATION, lambda text: mutation_matrix.matrix_markdown(json.loads(text)))
    if score_files.COMMITTED.is_file():  # `verify --scores` makes the first one
        yield GeneratedFile(SCORES, _scores, score_files.problems)
        yield _page(SCORES, lambda text: scores_markdown(score_files.read_scores(text)))
    yield from _vectors()
    if wire_kills.COMMITTED.is_file():  # `verify --wire-mutation` makes the first one, in hours
        yield GeneratedFile(WIRE_KILLS, _wire_kills, wire_kills.problems)
        yield GeneratedFile(QUICK, _quick, _quick_problems)
        yield _page(WIRE_KILLS, lambda text: wire_kills_markdown(wire_kills.read_matrix(text)))
        yield GeneratedFile(WIRE_HOLES, wire_holes.offers_text, wire_holes.problems)
        yield _page(WIRE_HOLES, wire_holes.page)


def model_files(pattern: str = "*") -> Iterator[GeneratedFile]:
    """The TLA+ and Promela of the models whose names match."""
    for model, name, produce in model_texts(pattern):
        yield GeneratedFile(f"conformance/{name}", produce, committed=model == COMMITTED)


def _pictures() -> Iterator[GeneratedFile]:
    for table in each_table():
        name = f"diagrams/generated/{table.label}"
        yield GeneratedFile(f"{name}.svg", partial(_svg, table), partial(_svg_problems, table))
        yield GeneratedFile(f"{name}.md", partial(matrix_markdown, table))
    for path in tour.PATHS:
        yield GeneratedFile(f"diagrams/generated/tour/{path}.svg", partial(tour.tour_svg, path))
    for theorem in THEOREMS.values():
        yield GeneratedFile(f"diagrams/generated/time/{theorem.id}.svg", partial(boundary_svg, theorem))


def _findings() -> Iterator[GeneratedFile]:
    for run in runs.runs():
        name = f"generated/findings/{run.name}"
        is_current, vectors_are = _asked(runs.run_is_current, run), _asked(runs.vectors_are_current, run)
        yield GeneratedFile(f"conformance/{name}.json", partial(runs.run_text, run), is_current)
        yield GeneratedFile(f"conformance/{name}.vectors.ndjson", partial(runs.run_vectors, run), vectors_are)
        yield GeneratedFile(f"diagrams/{name}.svg", partial(runs.run_svg_text, run))


def _vectors() -> Iterator[GeneratedFile]:
    for target in (MEMBER, "subscription"):
        for rebalance in REBALANCES:
            name = f"conformance/generated/feasible/{target}.{rebalance}.deployed.json"
            is_current = _asked(feasible.is_current, target, rebalance)
            yield GeneratedFile(name, partial(feasible.feasible_text, target, rebalance), is_current)
    yield GeneratedFile("conformance/vectors/data/schema.json", partial(_json, SCHEMA))
    for subject in SUBJECTS:
        for rebalance in subject.rebalances:
            name = f"conformance/vectors/data/{making.file_name(subject, rebalance)}"
            is_current = _asked(making.is_current, subject, rebalance)
            yield GeneratedFile(name, partial(making.vectors_text, subject, rebalance), is_current)


def _hashed_files() -> Iterator[GeneratedFile]:
    """Those that are not committed."""
    for table in each_table():
        name = f"conformance/generated/tables/{table.label}.json"
        yield GeneratedFile(name, partial(_table, table), committed=False)
        yield GeneratedFile(f"diagrams/generated/{table.label}.dot", partial(dot, table), committed=False)
    yield from (file for file in model_files() if not file.committed)


def _hashes() -> str:
    return _json({file.path: hashlib.sha256(file.data()).hexdigest() for file in _hashed_files()})


def _other_hashes(text: str) -> list[str]:
    """Which files have another hash than a text that lies there says."""
    try:
        there, made = json.loads(text), json.loads(_hashes())
    except json.JSONDecodeError as problem:
        return [f"it is no JSON: {problem}"]
    return [f"the hash of {path}" for path in sorted({*there, *made}) if there.get(path) != made.get(path)]


def unexpected_files() -> list[str]:
    """Files in the folders of generated ones that nobody generates: left behind by a name that changed."""
    known = {generated.file() for generated in generated_files()}
    folders = {file.parent for file in known} - {ROOT}  # README.md is generated in part
    found = [file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file()]
    return sorted(str(file) for file in found if file not in known)


def _svg(table: Table) -> str:
    return svg(dot(table))


def _svg_problems(table: Table, text: str) -> list[str]:
    return [] if svg_is_current(text, dot(table)) else ["it was drawn from another table"]


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


def _models() -> str:
    return model_counts.text(model_counts.counts(model_counts.recorded(ROOT / MODELS)))


def _mutation() -> str:
    matrix, problems = mutation_matrix.kill_matrix()
    if problems:
        raise UsageProblem(
            "the kill matrix is worthless as it is", found="; ".join(problems), next_step="mend the mutant or its test"
        )
    return mutation_matrix.matrix_text(matrix)


def _quick() -> str:
    return quick.quick_text(_matrix_of_the_wire())


def _quick_problems(text: str) -> list[str]:
    return list(quick.problems(_matrix_of_the_wire(), json.loads(text)))


def _matrix_of_the_wire() -> wire_kills.WireKills:
    return wire_kills.read_matrix((ROOT / WIRE_KILLS).read_text(encoding="utf-8"))


def _wire_kills() -> str:
    raise UsageProblem(
        "the wire kill matrix is stale, and takes hours",
        where=WIRE_KILLS,
        next_step="`groupspec verify --wire-mutation --resume FILE` computes it anew",
    )


def _scores() -> str:
    return score_files.scores_text(score_files.computed(known=score_files.committed()))
