"""`patchwright plugin`: skills, agents, commands, hooks and servers of others, from a folder or a git repository."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.output.lines.plugin_lines import format_parts, format_plugin, format_version
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_for_approval

if TYPE_CHECKING:
    from agent.extension.plugins.plugin_install import StagedPlugin
    from agent.extension.plugins.plugin_parts import PluginPart
    from agent.extension.plugins.plugin_store import Plugin


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(plugin_app, name="plugin")
    plugin_app.callback(invoke_without_command=True)(plugin)
    plugin_app.command("add")(add_)
    plugin_app.command("list")(list_)
    plugin_app.command()(show)
    plugin_app.command()(update)
    plugin_app.command()(remove)
    plugin_app.command()(check)


plugin_app = typer.Typer(rich_markup_mode=None, help="Skills, agents, hooks and servers that others share.")

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME")]
Yes = Annotated[bool, typer.Option("--yes", help="Accept what is shown without a question.")]


def plugin(context: typer.Context, as_json: AsJson = False) -> None:
    """Skills, agents, hooks and servers that others share."""
    if context.invoked_subcommand is None:
        raise typer.Exit(list_plugins(as_json=as_json))


def add_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A folder, or a git address (https://…).")],
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="One of a marketplace, or a folder inside.")
    ] = "",
    ref: Annotated[str, typer.Option("--ref", metavar="REF", help="Branch, tag or commit.")] = "",
    yes: Yes = False,
) -> None:
    """Show what each part of a plugin may do, and add it if you say so."""
    raise typer.Exit(add_plugin(source, name, ref, yes=yes))


def list_(as_json: AsJson = False) -> None:
    """List the plugins that you added."""
    raise typer.Exit(list_plugins(as_json=as_json))


def show(name: Name, as_json: AsJson = False) -> None:
    """Show one plugin: where it is from, and what each part may do."""
    raise typer.Exit(show_plugin(name, as_json=as_json))


def update(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One; else all.")] = "", yes: Yes = False
) -> None:
    """Show what changed in the sources of plugins, and take it if you say so."""
    raise typer.Exit(update_plugins(name, yes=yes))


def remove(name: Name) -> None:
    """Remove a plugin with all that its programs stored."""
    raise typer.Exit(remove_one(name))


def check(
    source: Annotated[
        str, typer.Argument(metavar="[SOURCE]", help="A folder or git address; else those that you added.")
    ] = "",
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="One of a marketplace, or a folder inside.")
    ] = "",
) -> None:
    """Check a plugin that you write, or whether those that you added are as you accepted them. Exit 2 if not."""
    raise typer.Exit(check_source(source, name) if source else check_added())


def add_plugin(source: str, name: str, ref: str, *, yes: bool) -> int:
    """Stage, show and accept a plugin. Returns the exit code. Raises UserError."""
    from agent.extension.plugins.plugin_install import accept_plugin, discard_plugin, stage_plugin
    from agent.extension.plugins.plugin_store import find_plugin

    home = Home.from_environment()
    staged = stage_plugin(home, source, name, ref)
    if (known := find_plugin(home, staged.plugin.name)) is not None:
        discard_plugin(home, staged)
        raise UserError(
            Fault.USAGE,
            f"there is a plugin {known.name!r}, from {known.record.source}",
            f"Update it (patchwright plugin update {known.name}), or remove it first.",
        )
    _print_lines(_describe_staged(staged))
    if not (yes or _ask(f"Add {staged.plugin.name}?")):
        discard_plugin(home, staged)
        print("nothing was added; --yes adds it", file=sys.stderr)
        return int(Exit.DONE)
    accept_plugin(home, staged)
    print(f"added: {staged.plugin.name}; new sessions use it")
    return int(Exit.DONE)


def list_plugins(*, as_json: bool) -> int:
    """Print a line for each plugin. Returns the exit code."""
    from agent.extension.plugins.plugin_store import list_plugins

    found = list_plugins(Home.from_environment())
    if as_json:
        print_json([_describe_plugin(each) for each in found])
        return int(Exit.DONE)
    _print_lines(format_plugin(each) for each in found)
    if not found:
        print("no plugins; patchwright plugin add SOURCE adds one", file=sys.stderr)
    return int(Exit.DONE)


def show_plugin(name: str, *, as_json: bool) -> int:
    """Print a plugin and its parts. Returns the exit code. Raises UserError for an unknown one."""
    from agent.extension.plugins.plugin_parts import read_parts

    found = _require_plugin(Home.from_environment(), name)
    contents = read_parts(found)
    if as_json:
        parts = [_describe_part(each) for each in contents.parts]
        print_json({**_describe_plugin(found), "parts": parts, "not_used": list(contents.left)})
    else:
        _print_lines([format_plugin(found), *format_parts(contents.parts)])
        _print_lines(f"not used: {each}" for each in contents.left)
    return int(Exit.DONE)


def update_plugins(name: str, *, yes: bool) -> int:
    """Show and take new versions. Returns the exit code. Raises UserError."""
    from agent.extension.plugins.plugin_install import (
        accept_plugin,
        compare_versions,
        discard_plugin,
        stage_update,
    )
    from agent.extension.plugins.plugin_store import list_plugins

    home = Home.from_environment()
    for each in [_require_plugin(home, name)] if name else list_plugins(home):
        staged = stage_update(home, each)
        if staged.plugin.record.digest == each.record.digest:
            accept_plugin(home, staged)  # of another commit, maybe, with the same files
            _print_lines([f"{each.name}: up to date ({format_version(staged.plugin)})"])
            continue
        _print_lines(
            [
                f"{each.name}: {format_version(each)} → {format_version(staged.plugin)}",
                *compare_versions(each, staged),
                *(f"not used: {line}" for line in staged.left),
            ]
        )
        if yes or _ask(f"Update {each.name}?"):
            accept_plugin(home, staged)
            print(f"updated: {each.name}; new sessions use it")
        else:
            discard_plugin(home, staged)
            print(f"{each.name} stays as it is; --yes takes the update", file=sys.stderr)
    return int(Exit.DONE)


def remove_one(name: str) -> int:
    """Remove a plugin. Returns the exit code. Raises UserError for an unknown one."""
    from agent.extension.plugins.plugin_install import remove_plugin

    home = Home.from_environment()
    remove_plugin(home, _require_plugin(home, name))
    _print_lines([f"removed: {name}"])
    return int(Exit.DONE)


def check_source(source: str, name: str) -> int:
    """Print the parts of a plugin that is not added, and its unused parts. Returns the exit code."""
    from agent.extension.plugins.plugin_install import discard_plugin, stage_plugin

    home = Home.from_environment()
    staged = stage_plugin(home, source, name)
    try:
        _print_lines(_describe_staged(staged))
    finally:
        discard_plugin(home, staged)
    print(f"{len(staged.contents.parts)} parts, {len(staged.left)} not used")
    return int(Exit.USAGE if staged.left else Exit.DONE)


def check_added() -> int:
    """Print for each plugin whether its files are those that were accepted. Returns the exit code."""
    from agent.extension.plugins.plugin_install import is_unchanged
    from agent.extension.plugins.plugin_store import list_plugins

    changed = 0
    for each in list_plugins(Home.from_environment()):
        same = is_unchanged(each)
        changed += not same
        hint = "" if same else f"; remove it: patchwright plugin remove {each.name}"
        _print_lines([f"{each.name}: {'as you accepted it' if same else 'its files were changed'}{hint}"])
    return int(Exit.USAGE if changed else Exit.DONE)


def _describe_staged(staged: StagedPlugin) -> list[str]:
    return [
        format_plugin(staged.plugin),
        *format_parts(staged.contents.parts),
        *(f"not used: {each}" for each in staged.left),
    ]


def _describe_plugin(found: Plugin) -> dict[str, Any]:
    record = found.record
    names = ("name", "version", "description", "source", "path", "ref", "origin", "commit", "digest")
    return {each: getattr(record, each) for each in names}


def _describe_part(part: PluginPart) -> dict[str, str]:
    return {"kind": part.kind, "name": part.name, "does": part.does, "digest": part.digest}


def _require_plugin(home: Home, name: str) -> Plugin:
    from agent.extension.plugins.plugin_store import find_plugin, list_plugins

    found = find_plugin(home, name)
    if found is None:
        known = ", ".join(each.name for each in list_plugins(home)) or "none"
        raise UserError(Fault.USAGE, f"no plugin {name!r}", f"Plugins: {known}.")
    return found


def _ask(question: str) -> bool:
    """Return whether the user agrees; nobody is asked where there is no terminal."""
    return sys.stdin.isatty() and typer.confirm(question, default=False)


def _print_lines(lines: Iterable[str]) -> None:
    """Print lines with control characters escaped: no name of a plugin starts a new line."""
    for line in lines:
        shown = sanitize_for_approval(line.encode("utf-8", "replace").decode()).replace("\n", "\\n")
        sys.stdout.write(f"{shown}\n")
    sys.stdout.flush()
