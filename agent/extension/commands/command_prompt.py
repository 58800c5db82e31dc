"""The prompt that a command makes: its text with arguments, files and the output of commands put in.

Only the command's own text is expanded: what a person types behind its name stays as it is, and cannot run anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent.app_dirs import Home
from agent.extension.commands.command_catalog import load_commands
from agent.extension.commands.command_file import SHELL, PromptCommand
from agent.extension.extension_files import has_commands, make_copies_folder
from agent.extension.plugins.plugin_copies import expand_root
from agent.turn.runtime import Runtime
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Observation
from tools.core.untrusted_output import enclose_in_tag

RunAction = Callable[[str, dict[str, object]], Awaitable[Observation]]
"""Runs an action of the person through the gateway: judged, in the sandbox, logged."""

MOST_FILES = 10
"""Files that a prompt includes; more stay names, which the model can read."""

_PIPED = "\n\n<stdin>"
"""Separator before text that was piped into `patchwright run`."""

_ARGUMENT = compile_lazily(r"\$(?:ARGUMENTS\b|([1-9])(?!\d))")
_QUOTED_ARGUMENT = compile_lazily(r'"\$(?:ARGUMENTS\b|([1-9]))"|' + _ARGUMENT.pattern)
_FILE = compile_lazily(r"(?<![\w@`/])@((?:\./|\.\./)?[\w$][\w$./-]*[\w$/-])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledCommand:
    """A command that a person called: its prompt, and the model that is to answer ("" for the session's own)."""

    prompt: str
    model: str = ""


async def expand_call(runtime: Runtime, home: Home, text: str) -> CalledCommand | None:
    """Return what a text like `/name arguments` calls, None for one that calls no command and no skill.

    Raises UserError.
    """
    typed, piped, rest = text.partition(_PIPED)
    word, _, arguments = typed.strip().partition(" ")
    name, arguments = word[1:], arguments.strip()
    if not word.startswith("/") or not name or "/" in name or "\n" in word:
        return None
    root = runtime.workspace.root
    if (
        has_commands(home, root)
        and (found := load_commands(home, root).find_command(name))
        and found.is_command
    ):
        found = place_command(found, runtime, home)
        prompt = await expand_command(found, arguments, runtime.run_harness_action)
        return CalledCommand(prompt=f"{prompt}{piped}{rest}", model=choose_model(found, runtime))
    if runtime.mcp is not None and name.startswith("mcp__"):
        from agent.extension.servers.prompt_calls import expand_prompt, find_prompt

        await runtime.start_mcp_servers()
        if (asked := find_prompt(runtime.mcp, name)) is not None:
            return CalledCommand(prompt=f"{await expand_prompt(asked, arguments)}{piped}{rest}")
    skill = runtime.skills.find_skill(name) if runtime.skills is not None else None
    if skill is None or runtime.skills is None or not skill.is_command:
        return None
    return CalledCommand(prompt=f"{runtime.skills.render_prompt(skill, arguments)}{piped}{rest}")


def place_command(command: PromptCommand, runtime: Runtime, home: Home) -> PromptCommand:
    """Return a command whose text names the files of its plugin where the session's commands see them."""
    copies = make_copies_folder(home, runtime.session.folder.name) if command.plugin is not None else None
    if command.plugin is None or copies is None:
        return command
    return replace(command, template=expand_root(command.template, command.plugin, copies))


def choose_model(command: PromptCommand, runtime: Runtime) -> str:
    """Return the name of the model that a command names, "" for the session's own."""
    return runtime.settings.models.fast if command.model == "fast" else command.model


async def expand_command(command: PromptCommand, arguments: str, run_action: RunAction) -> str:
    """Return the prompt of a command that was called with these arguments."""
    words = _split_words(arguments)
    parts: list[str] = []
    files: list[str] = []
    end = 0
    for match in SHELL.finditer(command.template):
        parts.append(_expand_text(command.template[end : match.start()], arguments, words, files))
        line = _QUOTED_ARGUMENT.sub(lambda each: _quote_argument(each, words), match[1])
        seen = await run_action("shell", {"command": line})
        parts.append(enclose_in_tag("output", seen.text, f" command={line!r}"))
        end = match.end()
    parts.append(_expand_text(command.template[end:], arguments, words, files))
    prompt = "".join(parts)
    if arguments and not _ARGUMENT.search(command.template):
        prompt = f"{prompt}\n\n{arguments}"
    for path in dict.fromkeys(files[:MOST_FILES]):
        seen = await run_action("read", {"path": path})
        if not seen.failed:
            prompt = f"{prompt}\n\n{enclose_in_tag('file', seen.text, f' path={path!r}')}"
    return prompt


def _expand_text(text: str, arguments: str, words: list[str], files: list[str]) -> str:
    """Put in the arguments, and note the files that the text names."""

    def replace(match: re.Match[str]) -> str:
        return arguments if match[1] is None else _get_word(words, match[1])

    for match in _FILE.finditer(text):
        files.append(_ARGUMENT.sub(replace, match[1]))
    return _ARGUMENT.sub(replace, text)


def _quote_argument(match: re.Match[str], words: list[str]) -> str:
    """Return arguments as words of a command line: none of them is more than a word."""
    number = match[1] or match[2]
    if number is None and match[0].startswith('"'):
        return shlex.quote(" ".join(words))
    return shlex.join(words) if number is None else shlex.quote(_get_word(words, number))


def _get_word(words: list[str], number: str) -> str:
    return words[int(number) - 1] if int(number) <= len(words) else ""


def _split_words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quotation mark without its other
        return arguments.split()
