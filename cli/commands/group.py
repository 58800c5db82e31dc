"""The subcommands of `patchwright`, one module per theme.

A module has a function `add(app)`, which declares its commands, and their bodies, which import what takes long when
they are called. Only the module of the command that is called is imported: turning all of them into parsers takes
50 ms of each start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from sandbox.extensions import load_extension, read_extensions

THEMES: Mapping[str, tuple[str, ...]] = {
    "run.run": ("run",),
    "run.resume": ("resume",),
    "detached.ps": ("ps",),
    "detached.attach": ("attach",),
    "detached.logs": ("logs",),
    "detached.control": ("stop", "wait", "answer"),
    "detached.repeat": ("loop", "watch"),
    "run.acp": ("acp",),
    "sessions.sessions": ("sessions",),
    "sessions.session": ("session",),
    "sessions.replay": ("replay",),
    "sessions.context": ("context",),
    "offline.apply": ("apply",),
    "attempts.attempts": ("attempts",),
    "sessions.undo": ("undo", "redo", "rewind"),
    "git.commit": ("commit",),
    "git.review": ("review",),
    "git.pull_request": ("pr",),
    "git.hook": ("hook",),
    "offline.symbols": ("symbols", "localize", "map"),
    "offline.kernel": ("kernel",),
    "offline.functions": ("functions",),
    "setup.doctor": ("doctor",),
    "setup.model": ("model",),
    "setup.tests": ("tests",),
    "setup.demo": ("demo",),
    "setup.trust": ("trust",),
    "offline.policy": ("policy",),
    "config.rules": ("rules",),
    "config.agents": ("agents",),
    "config.skill": ("skill",),
    "config.agent_hooks": ("agent-hooks",),
    "config.plugin": ("plugin",),
    "config.strategies": ("strategies",),
    "mcp.mcp": ("mcp",),
    "config.config": ("config", "completion", "schema"),
}
"""Modules of this folder and the commands that each declares. Those of packages come by `sandbox.extensions`."""

GROUPS: Mapping[str, tuple[str, str]] = {
    "runs": ("Runs in the background: list, attach, answer, stop.", "ps attach logs answer stop wait"),
    "debug": (
        "What is rarely needed: parts of the agent, and its records.",
        "kernel functions policy context replay schema",
    ),
}
"""Commands by group, with the group's help. They have the same names without it, too, which help does not list."""

HELP_SECTIONS: Mapping[str, str] = {
    "Work": "run resume repair reproduce migrate optimize select acp",
    "Background": "runs loop watch warm",
    "Sessions": "sessions session trace diagnose attempts undo redo rewind",
    "Git": "commit review pr hook",
    "Code": "symbols localize map tests apply",
    "Measure": "eval tune improve",
    "Project": (
        "init prepare import doctor model demo config rules memory agents skill agent-hooks plugin mcp strategies trust"
        " completion"
    ),
    "Expert": "debug",
}
"""Commands by heading, in the order of `patchwright --help`."""


class CommandGroup(TyperGroup):
    """The program's command group: each command is built when it is requested by name."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        themes = {**_list_themes(), **dict.fromkeys((*GROUPS, *read_extensions("commands")), "")}
        grouped = {name for _, names in GROUPS.values() for name in names.split()}
        self.commands = _LazyCommands(themes, grouped)  # type: ignore[assignment]  # read-only

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the program. Raises UserError for a mistake in the command line, with the way to mend it."""
        from typer._click.exceptions import ClickException, NoArgsIsHelpError

        try:
            sys.exit(super().main(*arguments, **{**options, "standalone_mode": False}) or 0)
        except NoArgsIsHelpError as error:  # a group of commands without the command: its help
            error.show()
            sys.exit(error.exit_code)
        except ClickException as error:
            from cli.commands.usage_errors import convert_usage_error

            raise convert_usage_error(error) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called. Raises UserError for a word that is none."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            from sandbox.extensions import list_foreign_extensions, load_foreign_extension

            if args[0] in list_foreign_extensions("commands"):
                self.commands.update(build_commands(load_foreign_extension("commands", args[0])))
            else:
                from cli.commands.usage_errors import build_command_error

                raise build_command_error(args[0], list(self.commands))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under the headings of `HELP_SECTIONS`, in one column for all of them."""
        width = max(map(len, self.commands))
        for title, names in HELP_SECTIONS.items():
            rows = [(name, self.commands[name]) for name in names.split()]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (n.ljust(width), each.get_short_help_str(formatter.width - 6 - width))
                        for n, each in rows
                    ]
                )


class ListingGroup(TyperGroup):
    """A group that lists what it is about where no command is named; options go to that command: `runs --all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_listing = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        if is_listing and not ctx.resilient_parsing:  # a completion offers all commands of the group
            args = [next(name for name in _LISTING if name in self.commands), *args]
        return super().parse_args(ctx, args)


_LISTING = ("list", "ps", "status", "show")
"""Commands that list, the first that a group has; `show` lists only in a group without the others."""


class _LazyCommands(Mapping[str, Any]):
    """Commands by name, built when they are looked up.

    themes: by name, the module of this folder that declares the command; "" for a group and for one of a package
    hidden: commands that help does not list
    """

    def __init__(self, themes: Mapping[str, str], hidden: Collection[str] = ()) -> None:
        self._theme = dict(themes)
        self._hidden = hidden
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            theme = self._theme[name]
            if name in GROUPS:
                made: Mapping[str, Any] = {name: _build_group(name)}
            else:
                made = load_commands(theme) if theme else build_commands(load_extension("commands", name))
            for each, command in made.items():
                command.hidden = command.hidden or each in self._hidden
            self._made |= made
        return self._made[name]

    def update(self, commands: Mapping[str, Any]) -> None:
        """Add commands of another package."""
        self._made |= commands
        self._theme |= dict.fromkeys(commands, "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._theme)

    def __len__(self) -> int:
        return len(self._theme)


def _list_themes() -> dict[str, str]:
    return {name: theme for theme, names in THEMES.items() for name in names}


def _build_group(name: str) -> TyperGroup:
    help_text, names = GROUPS[name]
    kind = ListingGroup if name == "runs" else TyperGroup
    group = kind(name=name, help=help_text, no_args_is_help=kind is TyperGroup, rich_markup_mode=None)
    themes = _list_themes()
    group.commands = _LazyCommands({each: themes[each] for each in names.split()})  # type: ignore[assignment]
    return group


def load_commands(theme: str) -> Mapping[str, Any]:
    """Return the commands of a theme by name."""
    return build_commands(import_module(f"cli.commands.{theme}").add)


def build_commands(add: Callable[[typer.Typer], None]) -> Mapping[str, Any]:
    """Return the commands that a function declares by name, as typer builds them from their functions."""
    app = typer.Typer(rich_markup_mode=None)
    add(app)
    commands = get_group(app).commands
    for each in commands.values():
        for command in getattr(each, "commands", {}).values():  # a short help is wrapped where a help is cut
            command.short_help = command.get_short_help_str(_ANY_LENGTH)
    return commands


_ANY_LENGTH = 10_000
"""Characters: a whole sentence of a command's help."""
