"""The `groupspec` command: finds subcommands, and turns every way of ending into an exit code.

Each subcommand is one module of `conformance/commands/`, named as the command is. A module is imported only when its
command is asked for, because some pull in Spark or a Kafka client, and `groupspec --help` must not pay for those.

Exit codes: 0 no failure, 1 conformance failure, 2 usage or configuration, 3 internal error, 4 inconclusive;
141 (128 + SIGPIPE) whoever read the results has gone; 143 (128 + SIGTERM) terminated, with nothing to tell.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import io
import os
import pkgutil
import re
import select
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click
from click.shell_completion import shell_complete

from groupspec.conformance.endings import as_problem, chain
from groupspec.conformance.errors import (
    EXIT_INTERNAL,
    EXIT_NOBODY_READS,
    EXIT_OK,
    EXIT_TERMINATED,
    EXIT_USAGE,
    Problem,
    UsageProblem,
)
from groupspec.conformance.missing import ONLY_IN_A_CHECKOUT, in_checkout, outdated_install, require_checkout_for
from groupspec.conformance.terminal import say_aside
from groupspec.spec.problems import SpecError


class LazyGroup(click.Group):
    """A group whose subcommands are the modules of a package, each with an attribute `command`.

    Attributes:
        folder: Where the package lies.
        package: Its full name.
    """

    def __init__(self, *arguments: Any, folder: Path, package: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.folder, self.package = folder, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the modules, with dashes."""
        return self._names_in(self.folder)

    @staticmethod
    def _names_in(folder: Path) -> list[str]:
        names = (each.name for each in pkgutil.iter_modules([str(folder)]))
        return [name.replace("_", "-") for name in names if not name.startswith("_")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None where click itself refuses the name.

        Raises:
            UsageProblem: there is no such module; it says which there are.
        """
        known = self.list_commands(ctx)
        if cmd_name in known:
            require_checkout_for(cmd_name, self._first_line(cmd_name))
            command = importlib.import_module(f"{self.package}.{_module(cmd_name)}").command
            assert isinstance(command, click.Command), f"{cmd_name}.command is not a click command"
            return command
        if ctx.resilient_parsing or cmd_name.startswith("-"):
            return None
        close = difflib.get_close_matches(cmd_name, known, n=1, cutoff=0.7)
        group = ctx.command_path
        below = [each for each in known if cmd_name in self._commands_below(each)]
        meant = [*(f"{each} {cmd_name}" for each in below), *close]
        advice = f"did you mean `{group} {meant[0]}`?" if meant else f"see `{group} --help`"
        raise UsageProblem(f"there is no command {cmd_name!r}", allowed=known, next_step=advice)

    def _commands_below(self, name: str) -> list[str]:
        """The names of the commands of a group below this one; none of a command."""
        return self._names_in(self.folder / _module(name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of `--help`, made from the first line of each module's docstring without importing it."""
        apart = frozenset() if in_checkout() else ONLY_IN_A_CHECKOUT
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, ("(only in a checkout) " if name in apart else "") + self._first_line(name))
                    for name in self.list_commands(ctx)
                ]
            )

    def _first_line(self, name: str) -> str:
        """The first line of a module's docstring, less a leading `groupspec x`."""
        file = self.folder / f"{_module(name)}.py"
        text = (file if file.is_file() else self.folder / _module(name) / "__init__.py").read_text(encoding="utf-8")
        line = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
        return re.sub("^`groupspec.*?`: ", "", line)


def _module(command: str) -> str:
    """The module of a command."""
    return command.replace("-", "_")


@click.group(
    name="groupspec",
    cls=LazyGroup,
    folder=Path(__file__).parent / "commands",
    package="groupspec.conformance.commands",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
    epilog="Exit codes: 0 no failure, 1 conformance failure, 2 usage or configuration, 3 internal error, "
    "4 inconclusive. 141: whoever read the results (`| head`) has gone.",
)
@click.version_option(package_name="groupspec", prog_name="groupspec", message="%(prog)s %(version)s")
def cli() -> None:
    """An executable specification of Kafka consumer-group clients, and a kit that checks any client against it.

    Example: groupspec doctor
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; `arguments` defaults to the process's own."""
    if arguments is None:
        signal.signal(signal.SIGTERM, terminated)
        threading.excepthook = _thread_failed
        _open_what_is_closed()
        # bash, zsh and fish ask so, after: eval "$(_GROUPSPEC_COMPLETE=bash_source groupspec)"
        if asked := os.environ.get("_GROUPSPEC_COMPLETE"):
            return shell_complete(cli, {}, "groupspec", "_GROUPSPEC_COMPLETE", asked)
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except Exception as problem:
        return _failed(problem)
    except KeyboardInterrupt as stop:
        return _stopped(stop)


def _stopped(stop: BaseException) -> int:
    """Says who stopped the command; the exit code for that."""
    say_aside(f"groupspec: stopped by {stop if isinstance(stop, Terminated) else 'the user'}")
    return EXIT_TERMINATED if isinstance(stop, Terminated) else EXIT_USAGE


def _failed(problem: Exception) -> int:
    """Says what went wrong, and whose fault it is; the exit code for that."""
    unread = _nobody_reads()
    _let_go_of_stdout()
    if isinstance(problem, BrokenPipeError) and unread:
        # The reader (`| head`) has seen enough. Nobody saw the end of the results, so this is no success.
        return EXIT_NOBODY_READS
    if isinstance(problem, click.ClickException):
        told = io.StringIO()
        problem.show(told)
        say_aside(told.getvalue().rstrip("\n"))
        return EXIT_USAGE
    stops = (each for each in chain(problem) if isinstance(each, KeyboardInterrupt | click.Abort))
    if (stop := next(stops, None)) is not None:
        # A library that was interrupted may fail at something else on its way out.
        return _stopped(stop)
    if isinstance(problem, SpecError):
        # Whoever changes a machine file sees what is wrong with it, not where the compiler noticed.
        say_aside(f"groupspec: {problem}")
        return EXIT_USAGE
    known = problem if isinstance(problem, Problem) else as_problem(problem)
    if known is None or isinstance(known, UsageProblem):
        outdated = outdated_install()
        if outdated is not None:
            say_aside(f"groupspec: {known or f'{type(problem).__name__}: {problem}'}\ngroupspec: {outdated}")
            return EXIT_USAGE
    if known is not None:
        say_aside(f"groupspec: {known}")
        return known.exit_code
    say_aside(
        "".join(traceback.format_exception(problem))
        + "groupspec: this is a defect of groupspec, not of your client or your files\n"
        "  next:    report it with the lines above, the command line, and the output of `groupspec doctor`"
    )
    return EXIT_INTERNAL


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    """Ends the command if the machine made one of its threads fail.

    The others would take its silence for the client's.
    """
    known = as_problem(failed.exc_value) if failed.exc_value is not None else None
    if known is None:
        say_aside("".join(traceback.format_exception(failed.exc_type, failed.exc_value, failed.exc_traceback)))
        return
    say_aside(f"groupspec: {known}")
    os._exit(known.exit_code)  # programs that it started end with it: see `tied`


def _open_what_is_closed() -> None:
    """Makes stdin, stdout and stderr nothing where the caller has closed them: the next file would take their place.

    A stdout of few characters (LC_ALL=C) shows others as stderr does: as escapes.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _nobody_reads() -> bool:
    """Whether stdout is a pipe whose reader has gone; other pipes break as well, and that is another matter."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError):
        return False


def _let_go_of_stdout() -> None:
    """If stdout takes nothing more, Python must not try again when it ends, and complain once more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    """Finds and runs the command. Not `cli.main`: click ends a closed pipe with exit code 1, which is a verdict."""
    try:
        with cli.make_context("groupspec", arguments) as context:
            result = cli.invoke(context)
    except click.exceptions.Exit as ending:
        result = ending.exit_code
    try:
        sys.stdout.flush()
    except OSError as problem:
        problem.filename = sys.stdout.name
        raise
    return result if isinstance(result, int) else EXIT_OK


class Terminated(KeyboardInterrupt):
    """SIGTERM: what a Ctrl-C stops, this stops as well, and what is known by then is told all the same."""


def terminated(number: int, frame: FrameType | None) -> None:
    """On SIGTERM, which a build server sends when a job's time is up."""
    raise Terminated("SIGTERM")


if __name__ == "__main__":
    sys.exit(main())
