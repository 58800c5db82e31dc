"""How often the right tool is among the first that a search finds, of tools of public MCP servers.

    python benchmarks/tool_search/measure.py [--misses]

`tools.jsonl`: tools as their servers publish them (sources: README.md). `questions.tsv`: the right tools, what a user
says, what a model asks for. Half of the lines, chosen by a hash, are held apart: `--misses` shows those of the other.
`later_questions.tsv` and `unseen_*` were written when the ranking was fixed: the first asks for other tools of the same
servers, the second for tools of two more servers.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sandbox.policy.effects import Effect
from tools.core.action import Observation
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.discovery.tool_index import ToolIndex

FOLDER = Path(__file__).parent
TOPS = (1, 3, 5)
FEW = 120
"""Tools of the smaller catalogue: those that are asked for, and as many others as fill it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something to be done, and the tools (full names) any of which does it."""

    tools: frozenset[str]
    of_user: str
    of_model: str
    is_held: bool


def load_tools(file: str = "tools.jsonl") -> list[Tool]:
    """Return the tools of a file, named and described as a session does it."""
    tools = []
    for line in (FOLDER / file).read_text("utf-8").splitlines():
        row = json.loads(line)
        tools.append(
            Tool(
                name=f"mcp__{row['server']}__{row['name']}",
                description=f"(of the MCP server {row['server']}) {row['description']}",
                parameters={"type": "object", "properties": {each: {} for each in row["arguments"]}},
                run=_refuse,
                effect_of=lambda arguments, at: Effect(kind="mcp"),
                reads_only=False,
            )
        )
    return tools


async def _refuse(*, at: Workspace) -> Observation:
    raise NotImplementedError


def load_questions(file: str = "questions.tsv") -> list[Question]:
    """Return the questions of a file."""
    found = []
    for line in (FOLDER / file).read_text("utf-8").splitlines():
        tools, of_user, of_model = line.split("\t")
        names = frozenset(f"mcp__{each.replace('.', '__', 1)}" for each in tools.split("|"))
        digest = hashlib.sha256(of_user.encode()).digest()
        found.append(Question(tools=names, of_user=of_user, of_model=of_model, is_held=bool(digest[0] % 2)))
    return found


def choose_few(tools: Sequence[Tool], questions: Sequence[Question]) -> list[Tool]:
    """Return `FEW` tools, or as many as are asked for: these, and others by the hash of their names."""
    asked = set().union(*(each.tools for each in questions))
    others = sorted(
        (each.name for each in tools if each.name not in asked),
        key=lambda name: hashlib.sha256(name.encode()).digest(),
    )
    kept = asked | set(others[: max(FEW - len(asked), 0)])
    return [each for each in tools if each.name in kept]


def find_rank(index: ToolIndex, query: str, wanted: frozenset[str]) -> int | None:
    """Return the rank, from 1, of the first right tool among the ten first, None without one."""
    found = [each.name for each in index.find_tools(query, 10)]
    return next((number for number, name in enumerate(found, 1) if name in wanted), None)


def format_shares(index: ToolIndex, questions: Sequence[Question], words: str) -> str:
    """Return the shares of questions whose tool is among the first, for each of `TOPS`, in percent."""
    ranks = [find_rank(index, getattr(each, words), each.tools) for each in questions]
    shares = (100 * sum(rank is not None and rank <= top for rank in ranks) / len(ranks) for top in TOPS)
    return "".join(f"{each:6.1f}" for each in shares)


def print_shares(catalogue: Sequence[Tool], groups: Mapping[str, Sequence[Question]]) -> None:
    """Print two lines of shares for a catalogue: in a user's words and in a model's, by group of questions."""
    index = ToolIndex(catalogue)
    for words in ("of_user", "of_model"):
        parts = (f"{name} ({len(each)}){format_shares(index, each, words)}" for name, each in groups.items())
        print(f"{len(catalogue)} tools, words {words.replace('_', ' ')}: {'   '.join(parts)}")


def main() -> None:
    """Print the figures."""
    tools, questions = load_tools(), load_questions()
    halves = {
        "development": [each for each in questions if not each.is_held],
        "held": [each for each in questions if each.is_held],
    }
    print_shares(choose_few(tools, questions), halves)
    print_shares(tools, halves)
    print_shares(tools, {"later questions": load_questions("later_questions.tsv")})
    unseen = {"unseen servers": load_questions("unseen_questions.tsv")}
    others = load_tools("unseen_tools.jsonl")
    print_shares(others, unseen)
    print_shares([*tools, *others], unseen)
    index = ToolIndex(tools)
    began = time.process_time()
    for each in questions:
        index.find_tools(each.of_user, 5)
    print(f"a search: {1000 * (time.process_time() - began) / len(questions):.2f} ms of the processor")
    if "--misses" in sys.argv:
        for each in questions:
            for query in (each.of_user, each.of_model):
                rank = find_rank(index, query, each.tools)
                if not each.is_held and (rank is None or rank > max(TOPS)):
                    found = " ".join(tool.name[5:] for tool in index.find_tools(query, 5))
                    print(f"{query!r} → {', '.join(sorted(each.tools))}: rank {rank}; found {found}")


if __name__ == "__main__":
    main()
