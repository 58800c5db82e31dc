"""`patchwright skill`: the skills of sessions, and their folders."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.extension.skills.skill_catalog import SkillCatalog
    from agent.extension.skills.skill_file import Skill


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(skill_app, name="skill")
    skill_app.callback(invoke_without_command=True)(skill)
    skill_app.command("list")(list_)
    skill_app.command()(show)
    skill_app.command()(new)
    skill_app.command("add")(add_)
    skill_app.command()(check)


skill_app = typer.Typer(
    rich_markup_mode=None, help="Instructions that a session reads when a task needs them."
)

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME")]
ForUser = Annotated[bool, typer.Option("--user", help="For all your projects.")]


def skill(context: typer.Context, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Instructions that a session reads when a task needs them."""
    if context.invoked_subcommand is None:
        raise typer.Exit(list_skills(folder, as_json=as_json))


def list_(folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """List the skills: yours, and those of a project that you trust."""
    raise typer.Exit(list_skills(folder, as_json=as_json))


def show(name: Name, folder: Folder = Path("."), as_json: AsJson = False) -> None:
    """Show one skill: what it would like to do, its files, its instructions."""
    raise typer.Exit(show_skill(folder, name, as_json=as_json))


def new(name: Name, folder: Folder = Path("."), user: ForUser = False) -> None:
    """Write a new skill, to be filled in."""
    raise typer.Exit(create_skill(folder, name, for_user=user))


def add_(
    source: Annotated[
        str, typer.Argument(metavar="PATH", help="A skill's folder, one with several, or a git address.")
    ],
    folder: Folder = Path("."),
    user: ForUser = False,
    path: Annotated[
        str, typer.Option("--path", metavar="FOLDER", help="Folder inside a git repository.")
    ] = "",
    ref: Annotated[str, typer.Option("--ref", metavar="REF", help="Branch, tag or commit.")] = "",
) -> None:
    """Copy skills from a folder or a git repository, and show what they would like to do."""
    from agent.extension.plugins.git_source import is_address

    if not is_address(source):
        raise typer.Exit(add_skills(folder, Path(source) / path, for_user=user))
    from agent.extension.skills.skill_download import download_skills

    with download_skills(Home.from_environment(), source, ref, path) as (place, commit):
        print(sanitize_text(f"source: {source}, commit {commit}"))
        raise typer.Exit(add_skills(folder, place, for_user=user))


def check(
    source: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="A skill's folder, or one with several.")
    ] = None,
    folder: Folder = Path("."),
    strict: Annotated[bool, typer.Option("--strict", help="Deviations are errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check skills against the format (agentskills.io). Exit 2 if one cannot be used."""
    raise typer.Exit(check_skills(folder, source, strict=strict, as_json=as_json))


def list_skills(folder: Path, *, as_json: bool) -> int:
    """Print a line for each skill. Returns the exit code."""
    catalog = _load(folder)
    if as_json:
        print_json([_describe(each) for each in catalog.skills.values()])
        return int(Exit.DONE)
    width = max(map(len, catalog.skills), default=0)
    for each in catalog.skills.values():
        print(sanitize_text(f"{each.name:<{width}}  {each.description}  ({each.source})").replace("\n", " "))
    _print_notices(catalog)
    if not catalog.skills:
        print("no skills; patchwright skill new NAME makes one", file=sys.stderr)
    return int(Exit.DONE)


def show_skill(folder: Path, name: str, *, as_json: bool) -> int:
    """Print one skill. Returns the exit code. Raises UserError for an unknown one."""
    from sandbox.errors import Fault, UserError

    catalog = _load(folder)
    found = catalog.skills.get(name.lower())
    if found is None:
        _print_notices(catalog)
        raise UserError(Fault.USAGE, f"no skill {name!r}", f"Skills: {', '.join(catalog.skills) or 'none'}.")
    if as_json:
        print_json(_describe(found))
    else:
        _print_skill(found)
        print()
        print(sanitize_text(found.body))
    return int(Exit.DONE)


def create_skill(folder: Path, name: str, *, for_user: bool) -> int:
    """Write a skill and print the path of its file. Returns the exit code. Raises UserError."""
    from agent.extension.skills.skill_template import write_skill

    root, _ = find_workspace_root(folder, need_git=False)
    print(sanitize_text(str(write_skill(Home.from_environment(), None if for_user else root, name))))
    if not for_user:
        print(sanitize_text(f"When it is filled in: patchwright trust -C {str(root)!r}"), file=sys.stderr)
    return int(Exit.DONE)


def add_skills(folder: Path, source: Path, *, for_user: bool) -> int:
    """Copy the skills of a folder and print what they are. Returns the exit code. Raises UserError."""
    from agent.extension.skills.skill_catalog import check_skill_folder
    from agent.extension.skills.skill_template import add_skill
    from sandbox.errors import Fault, UserError

    root, _ = find_workspace_root(folder, need_git=False)
    catalog = check_skill_folder(source.absolute())
    _print_notices(catalog)
    if not catalog.skills:
        hint = "Name a folder with a SKILL.md, or one with several such folders."
        raise UserError(Fault.USAGE, f"no skill in {str(source)!r}", hint)
    for each in catalog.skills.values():
        _print_skill(each)
        place = add_skill(Home.from_environment(), None if for_user else root, each)
        print(sanitize_text(f"added: {place}"))
    if not for_user:
        print(sanitize_text(f"To use it: patchwright trust -C {str(root)!r}"), file=sys.stderr)
    return int(Exit.DONE)


def check_skills(folder: Path, source: Path | None, *, strict: bool, as_json: bool) -> int:
    """Check the skills of a folder, or all of a session's, trusted or not. Returns the exit code."""
    from agent.extension.skills import skill_catalog

    if source is not None:
        catalog = skill_catalog.check_skill_folder(source.absolute())
    else:
        root, _ = find_workspace_root(folder, need_git=False)
        catalog = skill_catalog.check_skills(Home.from_environment(), root)
    if as_json:
        print_json({"skills": list(catalog.skills), "bad": catalog.bad, "deviations": catalog.deviations})
    else:
        for line in (*catalog.notices, *catalog.deviations):
            print(sanitize_text(line))
        number = "1 skill" if len(catalog.skills) == 1 else f"{len(catalog.skills)} skills"
        print(f"{number}, {len(catalog.bad)} bad, {len(catalog.deviations)} deviations from the format")
    return int(Exit.USAGE if catalog.bad or (strict and catalog.deviations) else Exit.DONE)


def _load(folder: Path) -> SkillCatalog:
    from agent.extension.skills.skill_catalog import load_skills

    root, _ = find_workspace_root(folder, need_git=False)
    return load_skills(Home.from_environment(), root)


def _describe(found: Skill) -> dict[str, Any]:
    return {
        "name": found.name,
        "description": found.description,
        "source": found.source,
        "would_like": list(found.allowed_tools),
        "license": found.license,
        "compatibility": found.compatibility,
        "metadata": dict(found.metadata),
        "files": list(found.files),
        "instructions": found.body,
    }


def _print_skill(found: Skill) -> None:
    """Print all of a skill but its instructions, a line each."""
    for key, value in _describe(found).items():
        if value and key not in ("instructions", "metadata"):
            shown = ", ".join(value) if isinstance(value, list) else value
            label = "would like, and is not granted" if key == "would_like" else key
            print(sanitize_text(f"{label}: {shown}").replace("\n", " "))


def _print_notices(catalog: SkillCatalog) -> None:
    for line in catalog.notices:
        print(sanitize_text(f"patchwright: {line}"), file=sys.stderr)
