"""Command files: Markdown with optional front matter, in the format of Claude Code's commands."""

from __future__ import annotations

from agent.extension.front_matter import (
    BadFrontMatter,
    read_flag_field,
    read_list_field,
    read_text_field,
    split_front_matter,
)
from agent.extension.plugins.plugin_store import Plugin
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

SHELL = compile_lazily(r"(?<![^\s(])!`([^`\n]+)`")
"""A command line whose output becomes part of the prompt."""


class BadCommandFile(ValueError):
    """A command file that cannot be used; its text is one line that says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCommand:
    """A command that a person calls by its name.

    name: without its slash; that of a file in a subfolder begins with the folder's, `git:commit`
    template: text of the prompt, with places for arguments, files and output of commands
    argument_hint: what to write behind the name; model: that answers, "" for the session's own
    allowed_tools: tools that it would like to use without a question: shown, and not granted
    source: path of its file; is_project: whether it comes with the project
    plugin: the plugin that it belongs to, None for none
    """

    name: str
    description: str
    template: str
    argument_hint: str = ""
    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    source: str = ""
    is_project: bool = False
    is_command: bool = True
    plugin: Plugin | None = None


_NAME = compile_lazily(r"[\w.-]+(?::[\w.-]+)*")


def parse_command_file(text: str, source: str, name: str, *, is_project: bool) -> PromptCommand:
    """Parse a command file. Raises BadCommandFile.

    A heading in the first line is its description. In a file of the user's without front matter it is no more than
    that; elsewhere it is part of the prompt, too.
    """
    if not _NAME.fullmatch(name):
        raise BadCommandFile(f"{source}: {name!r} is no name of a command: use letters, digits, - and _")
    try:
        found = split_front_matter(text)
        fields, body = found if found is not None else ({}, text)
        body = body.removeprefix("\ufeff").strip()
        title, rest = _split_heading(body)
        description = read_text_field(fields, "description") or title
        if found is None and title and not is_project:
            body = rest
        if not body:
            raise BadCommandFile(f"{source}: there is no prompt: write one")
        return PromptCommand(
            name=name.lower(),
            description=description
            or f"{'of this project' if is_project else 'your own'}: {body.splitlines()[0][:50]}",
            template=body,
            argument_hint=_read_hint(fields.get("argument-hint")),
            model=_choose_model(read_text_field(fields, "model")),
            allowed_tools=read_list_field(fields, "allowed-tools"),
            source=source,
            is_project=is_project,
            is_command=read_flag_field(fields, "user-invocable", True),
        )
    except BadFrontMatter as error:
        raise BadCommandFile(f"{source}: {error}") from None


def _split_heading(body: str) -> tuple[str, str]:
    first, _, rest = body.partition("\n")
    return (first.lstrip("#").strip(), rest.strip()) if first.startswith("#") else ("", body)


def _read_hint(value: object) -> str:
    """Return the hint at a command's arguments: `[file]` without quotes is a list to YAML."""
    if isinstance(value, list):
        return " ".join(f"[{each}]" for each in value)
    return "" if value is None else " ".join(str(value).split())


def _choose_model(name: str) -> str:
    """Return a model of ours, "fast" for a small one of another agent's, "" for the session's own.

    Other agents' names are their own provider's: a user who has no key for it still wants the command.
    """
    if "/" in name:
        return name
    return "fast" if "haiku" in name.lower() else ""
