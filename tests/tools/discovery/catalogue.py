"""A catalogue of 420 tools of 21 servers, in the words of such servers, and 200 questions for one of them each.

The questions at even places are for development (weights, words that are alike), those at odd places are held out.
"""

from __future__ import annotations

from pathlib import Path

from sandbox.policy.effects import Effect
from tools.core.action import Observation
from tools.core.registry import Tool
from tools.core.workspace import Workspace

FOLDER = Path(__file__).parent


async def do_nothing(*, at: Workspace) -> Observation:
    """What no test calls."""
    raise NotImplementedError


def load_tools() -> list[Tool]:
    """Return the tools; a line of the file has server, name, description and the names of arguments."""
    tools = []
    for line in (FOLDER / "tools.txt").read_text("utf-8").splitlines():
        server, name, rest = line.split(" ", 2)
        description, _, arguments = rest.rpartition(". ")
        schema = {each: {"type": "string"} for each in arguments.split() if each != "none"}
        tools.append(
            Tool(
                name=f"mcp__{server}__{name}",
                description=f"(of the MCP server {server}) {description}.",
                parameters={"type": "object", "properties": schema},
                run=do_nothing,
                effect_of=lambda arguments, at: Effect(kind="mcp"),
                reads_only=False,
            )
        )
    return tools


def load_queries() -> list[tuple[str, str]]:
    """Return (name of the tool, question) pairs."""
    pairs = [line.split(": ", 1) for line in (FOLDER / "queries.txt").read_text("utf-8").splitlines()]
    return [("mcp__" + tool.replace(".", "__"), query) for tool, query in pairs]
