"""The one way to what people read of a command: its results on stdout, remarks and progress on stderr.

Nothing else prints, and nothing else imports rich (ruff sees to both): names, messages and log lines are other
people's text, and here each of them becomes text that can be shown (`spec.printable`). There is no markup; a part of a
line has a style by being `Styled`. rich is imported where it is needed: `--help` does not wait for it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn, TextIO

from groupspec.spec import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH_OF_A_FILE: Final = 100_000
PROGRESS_EVERY_S: Final = 30.0
"""How often a line tells the progress where no bar can be drawn."""
_ORDER_IN_A_CELL: Final = re.compile(":(?=:[A-Za-z])")


class Styled(NamedTuple):
    """A part of a line in a style of rich's: `bold red`."""

    text: str
    style: str


Part = str | Styled


@dataclass(frozen=True)
class Column:
    """A column of a table. `whole`: what it holds is never broken; `folded`: broken anywhere, never cut."""

    name: str
    _: KW_ONLY
    justify: Literal["left", "center", "right"] = "left"
    whole: bool = False
    folded: bool = False
    min_width: int | None = None


@dataclass
class Table:
    """Rows below the names of columns. `plain`: without lines between them."""

    columns: Sequence[str | Column]
    _: KW_ONLY
    title: str = ""
    caption: str = ""
    plain: bool = False
    rows: list[Sequence[Part | Sequence[Part]]] = field(default_factory=list)

    def add(self, *cells: Part | Sequence[Part]) -> None:
        """A row."""
        self.rows.append(cells)


class Terminal:
    """A stream that people read, with colours only on a terminal.

    It is stdout; with `aside` stderr. What is read by a program, or from a file, has no width: tables are as wide as
    they need to be.
    """

    def __init__(self, file: TextIO | None = None, width: int | None = None, *, aside: bool = False) -> None:
        self._console = _console(file or (sys.stderr if aside else sys.stdout))
        if width is not None:
            self._console.width = width
        elif not self.is_terminal:
            self._console.width = WIDTH_OF_A_FILE

    @property
    def is_terminal(self) -> bool:
        """Whether somebody watches."""
        return self._console.is_terminal

    def widen(self, width: int) -> None:
        """Gives what is read in a file this width at least."""
        if not self.is_terminal:
            self._console.width = max(self._console.width, width)

    @property
    def ascii_only(self) -> bool:
        """Whether no other characters can be written."""
        return self._console.options.ascii_only

    def line(self, *parts: Part, end: str = "\n") -> None:
        """Writes one line."""
        self._print(_line(parts), end)

    def lines(self, *lines: str) -> None:
        """Writes lines without styles."""
        for each in lines:
            self.line(each)

    def commands(self, *commands: str) -> None:
        """Writes orders to the CI's runner, one a line: whoever made them has escaped what is in them."""
        for each in commands:
            self._console.file.write(f"{each}\n")

    def table(self, table: Table) -> None:
        """Writes a table."""
        from rich.table import Table as Grid

        grid = Grid(title=_line([table.title]) if table.title else None, title_justify="left")
        grid.caption, grid.caption_justify = _line([table.caption]) if table.caption else None, "left"
        if table.plain:
            grid.box, grid.pad_edge, grid.header_style = None, False, "bold"
        for each in table.columns:
            column = each if isinstance(each, Column) else Column(each)
            grid.add_column(
                _cell(column.name),
                justify=column.justify,
                no_wrap=column.whole,
                overflow="fold" if column.folded else "ellipsis",
                min_width=column.min_width,
            )
        for row in table.rows:
            grid.add_row(*map(_cell, row))
        self._print(grid)

    def _print(self, what: object, end: str = "\n") -> None:
        """Prints, and names the output in the error if the system refuses."""
        try:
            self._console.print(what, end=end)
        except OSError as problem:
            problem.filename = problem.filename or self._console.file.name
            raise


def _line(parts: Sequence[Part]) -> Text:
    """The parts as one line. An order to a runner may be put together from two of them."""
    from rich.text import Text

    styled = [each if isinstance(each, Styled) else Styled(each, "") for each in parts]
    whole = "".join(each.text for each in styled)
    if "".join(printable.line(each.text) for each in styled) != printable.line(whole):
        return Text(printable.line(whole))
    return Text.assemble(*(Styled(printable.line(each.text), each.style) for each in styled))


def _cell(cell: Part | Sequence[Part]) -> Text:
    """A line that may be broken anywhere: what comes first in the next one gives no order either.

    A tab would be wider than it is measured to be.
    """
    parts = [cell] if isinstance(cell, (str, Styled)) else cell
    styled = [each if isinstance(each, Styled) else Styled(each, "") for each in parts]
    return _line([Styled(_ORDER_IN_A_CELL.sub(r":\\", each.text.replace("\t", " ")), each.style) for each in styled])


def say_aside(text: str) -> None:
    """Writes to stderr what is no result: lines as they are, if that can be written to."""
    with contextlib.suppress(OSError):
        sys.stderr.write(printable.lines(text) + "\n")
        sys.stderr.flush()


def write_to_stdout(text: str) -> None:
    """Writes what a program reads, as it is: JSON, a page."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _console(file: TextIO) -> Console:
    from rich.console import Console

    class Results(Console):
        """Leaves what the system refuses to `cli.main`; rich would end a closed pipe with 1, which is a verdict."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError("nobody reads the results any more")

    return Results(file=file, markup=False, emoji=False, highlight=False, soft_wrap=True)


class Steps:
    """The bar of one long piece of work, on stderr, in a `with` block; nothing of it is left at the end.

    On anything but a terminal a line each half minute says how far it is. `total` is None where the amount is not
    known.

    Attributes:
        bar: rich's.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Left

        console = _console(sys.stderr)
        words = TextColumn("{task.description}", markup=False)
        to_come = () if total is None else (TextColumn("left"), Left())
        columns = words, BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), *to_come
        self.bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self.bar.add_task(printable.name(what), total=total)
        self._told_at_s = self.bar.get_time()

    def __enter__(self) -> Steps:
        self.bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.bar.stop()

    @property
    def is_seen(self) -> bool:
        """Whether somebody watches."""
        return self.bar.console.is_terminal

    def done(self, count: int = 1) -> None:
        """Says that `count` more units are done."""
        self.bar.advance(self._task, count)
        if self.bar.disable and self.bar.get_time() - self._told_at_s >= PROGRESS_EVERY_S:
            self._told_at_s = self.bar.get_time()
            task = self.bar.tasks[0]
            of = f" of {task.total:.0f}" if task.total else ""
            self.say(f"groupspec: {task.description}: {task.completed:.0f}{of}, {task.elapsed:.0f} s")

    def before(self, count: int, left: int) -> None:
        """Says that `count` units were done before this began, and that so many are left."""
        self.bar.reset(self._task, completed=count, total=count + left)
        self._told_at_s = self.bar.get_time()

    def more(self, count: int) -> None:
        """Says that there are `count` more units than was thought."""
        if count and (total := self.bar.tasks[0].total) is not None:
            self.bar.update(self._task, total=total + count)

    def now(self, what: str) -> None:
        """Changes the words beside the bar."""
        self.bar.update(self._task, description=printable.name(what))

    def refresh(self) -> None:
        """Draws the bar at once."""
        self.bar.refresh()

    def say(self, line: str) -> None:
        """Writes a line above the bar; on what is no terminal too."""
        self.bar.console.print(_line([line]))
