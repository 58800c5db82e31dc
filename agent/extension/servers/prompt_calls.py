"""Prompts of MCP servers as commands: `/mcp__server__prompt arguments`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from agent.session.images import defuse_mentions
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.untrusted_output import enclose_in_tag, escape_lookalikes
from tools.mcp.descriptions import PromptDescription
from tools.mcp.server_connection import McpServer
from tools.mcp.server_tools import McpServers
from tools.shell.server_pipes import ServerGone

LONGEST_PROMPT = 100_000
"""Characters: more is no prompt."""

_KEYWORD = compile_lazily(r"([A-Za-z_][\w-]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPrompt:
    """A prompt under the name by which it is called, without the slash."""

    name: str
    server: McpServer
    prompt: PromptDescription

    @property
    def argument_hint(self) -> str:
        """Notation of the arguments: optional ones in brackets."""
        return " ".join(
            f"{each.upper()}" if required else f"[{each.upper()}]"
            for each, required in self.prompt.arguments.items()
        )


def list_prompts(servers: Iterable[McpServer]) -> Iterator[ServerPrompt]:
    """Yield the prompts of all servers that were started; of two with the same name, the first."""
    seen: set[str] = set()
    for server in servers:
        for each in server.prompts:
            name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server.name}__{each.name}")
            if name not in seen:
                seen.add(name)
                yield ServerPrompt(name=name, server=server, prompt=each)


def find_prompt(servers: McpServers, name: str) -> ServerPrompt | None:
    """Return a prompt by the name of its command, in any case of letters."""
    return next((each for each in list_prompts(servers) if each.name.lower() == name.lower()), None)


async def expand_prompt(called: ServerPrompt, arguments: str) -> str:
    """Return the text of a prompt. Raises UserError for missing arguments, and where the server has no answer.

    The text is to be followed, since the user chose it, but is no note of ours, mentions no file of theirs, and says
    nothing that they are to have wished (to skip hooks, to change tests).
    """
    given = _parse_arguments(called, arguments)
    try:
        text = await called.server.get_prompt(called.prompt.name, given)
    except ServerGone as gone:
        raise UserError(Fault.USAGE, f"the mcp server {called.server.name} has no answer: {gone}") from None
    body = defuse_mentions(escape_lookalikes(text[:LONGEST_PROMPT]))
    about = f" server={called.server.name!r} name={called.prompt.name!r}"
    return f"Follow this prompt:\n\n{enclose_in_tag('mcp-prompt', body, about)}"


def _parse_arguments(called: ServerPrompt, typed: str) -> Mapping[str, str]:
    """Return the arguments by name: `name=value`, others in the order of the prompt's; the last takes the rest."""
    known = called.prompt.arguments
    try:
        words = shlex.split(typed)
    except ValueError:  # a quotation mark without its other
        words = typed.split()
    given: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        match = _KEYWORD.fullmatch(word)
        if match and match[1] in known:
            given[match[1]] = match[2]
        else:
            plain.append(word)
    left = [each for each in known if each not in given]
    for index, name in enumerate(left[: len(plain)]):
        given[name] = " ".join(plain[index:]) if index == len(left) - 1 else plain[index]
    missing = [each for each, required in known.items() if required and each not in given]
    if missing or (plain and not left):
        what = f"needs {', '.join(missing)}" if missing else "takes no more arguments"
        usage = f"Call it as: /{called.name} {called.argument_hint}".rstrip()
        raise UserError(Fault.USAGE, f"/{called.name} {what}", usage)
    return given
