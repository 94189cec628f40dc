"""What every subcommand shares: names that are checked, `--json`, results on stdout, remarks and progress on stderr.

Progress is a bar on a terminal, and elsewhere a line on stderr now and then, for the log of a build; with `--json -`
stdout is for the JSON alone, and what is for people goes to stderr. The machine-readable result is checked against its
JSON Schema before a byte is written: a file that breaks the schema is a defect of ours, and no consumer of the file
should have to find it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from groupspec.conformance.errors import InternalProblem, require_known
from groupspec.conformance.outputs import is_stdout, json_text, require_writable, write_text
from groupspec.conformance.terminal import Steps as Steps
from groupspec.conformance.terminal import Terminal, say_aside, write_to_stdout
from groupspec.spec import printable

SCHEMAS = Path(__file__).parent.parent / "reports" / "schemas"
STDOUT = Path("-")
JSON_FILE = "groupspec: where --json points"
"""Key of click's `Context.meta`."""
_CHECKED_ANYWAY = 1 << 20
"""So long a result, in characters, is held against its schema where it is not written, too."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Known(click.ParamType):  # type: ignore[type-arg]  # older versions of click have no type arguments
    """A name of a list: another is refused with the nearest, and a shell offers them.

    Attributes:
        name: The kind of thing that it names: "profile".
        refused: Whether another name is refused here; False where the command itself knows more names.
    """

    def __init__(self, name: str, known: Collection[str] | Callable[[], Collection[str]], refused: bool = True) -> None:
        self.name, self._known, self.refused = name, known, refused

    @property
    def known(self) -> Collection[str]:
        """The list."""
        return self._known() if callable(self._known) else self._known

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name.

        Raises:
            UsageProblem: it is not known.
        """
        if self.refused:
            require_known(value, self.known, self.name, param.opts[0] if isinstance(param, click.Option) else "")
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What a shell offers after these letters."""
        return [CompletionItem(name) for name in self.known if name.startswith(incomplete)]


def json_option(function: Decorated) -> Decorated:
    """Adds `--json FILE`, where `write_json` writes to."""
    option = click.option(
        "--json",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_tried,
        help="Write the machine-readable result to FILE (folders that are missing are made), or to stdout if FILE is - "
        "(its JSON Schema ships with groupspec).",
    )
    return option(function)


def _tried(context: click.Context, option: click.Parameter, file: Path | None) -> None:
    """Finds out before the work whether its result can be written."""
    if file is None or context.resilient_parsing:
        return
    if is_stdout(file):
        file = STDOUT
    else:
        require_writable(file)
    context.meta[JSON_FILE] = file


def json_file() -> Path | None:
    """Where `--json` points; None without it."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(JSON_FILE)


def write_json(command: str, result: Mapping[str, object], file: Path | None = None) -> None:
    """Writes `result` to `file`, or else to where `--json` points, if it keeps the schema of `command`.

    A file that `--json` names is told on stderr. The check is made even without a file, so that a result that breaks
    its schema is found by whoever made it, unless the result is so large that the check would take seconds.
    The schema's name is `command`: `doctor`, `trace-check`, ...

    Raises:
        InternalProblem: the result breaks the schema, or there is no schema of that name.
        UsageProblem: the file cannot be written.
    """
    asked = file is None
    file = file or json_file()
    text = json_text(result)
    if file is None and len(text) > _CHECKED_ANYWAY:
        return
    if problem := _first_schema_problem(command, json.loads(text)):
        raise InternalProblem(
            f"the JSON result of `groupspec {command}` breaks its own schema",
            where=problem,
            next_step="report it with the command line; the run's other output is not affected",
        )
    if file == STDOUT:
        write_to_stdout(text)
    elif file is not None:
        write_text(file, text)
        if asked:
            remark(f"groupspec: the JSON result is in {file}")


def _first_schema_problem(command: str, result: object) -> str:
    schema_file = SCHEMAS / f"{command}.json"
    if not schema_file.exists():
        return f"there is no schema {schema_file.name} in conformance/reports/schemas"
    import jsonschema  # only here: it takes as long as everything else that a command without results imports

    validator = jsonschema.Draft202012Validator(json.loads(schema_file.read_text(encoding="utf-8")))
    error = jsonschema.exceptions.best_match(validator.iter_errors(result))
    return f"{error.json_path}: {error.message}" if error is not None else ""


def results() -> Terminal:
    """Where results go: stdout; stderr if `--json -` has taken stdout."""
    return Terminal(aside=json_file() == STDOUT)


def say(*lines: str) -> None:
    """Writes lines of results."""
    results().lines(*lines)


def remark(line: str) -> None:
    """Writes on stderr what is not a result."""
    say_aside(printable.line(line))
