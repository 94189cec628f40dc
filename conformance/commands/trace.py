"""`groupspec trace`: ingest recorded traces, check them, and explain why a group rebalanced."""

from __future__ import annotations

import click

from groupspec.conformance.errors import UsageProblem


class _Lazy(click.Group):
    """Imports a subcommand when it is asked for: each needs other, heavy packages."""

    _WHERE = {"ingest": "_trace_ingest", "check": "_trace_check", "why": "_trace_why"}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order of work."""
        return list(self._WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name."""
        if cmd_name not in self._WHERE:
            raise UsageProblem(
                f"there is no subcommand {cmd_name!r}",
                where="groupspec trace",
                allowed=list(self._WHERE),
                next_step="see `groupspec trace --help`",
            )
        from importlib import import_module

        module = import_module(f"groupspec.conformance.commands.{self._WHERE[cmd_name]}")
        found = getattr(module, cmd_name)
        assert isinstance(found, click.Command)
        return found


@click.group(name="trace", cls=_Lazy)
def command() -> None:
    """Recorded traces and logs: ingest, check, explain.

    Example: groupspec trace check recordings/
    """
