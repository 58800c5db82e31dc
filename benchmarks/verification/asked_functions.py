"""Changes of single functions for `asked_and_done`: texts of HumanEval and MBPP as prompts, solutions as the work.

Each is made in a module with the stub of the function that is asked for, the stub of another problem's, and the
solution of a third. Half of a change is the first half of the statements of its body, where the problem's own tests,
which the prompt does not have in full, fail with it; too much is the whole and a third function that answers nothing.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.verification.prompt_items import HUMANEVAL, MBPP
from benchmarks.verification.prompt_requirements import git
from sandbox.process.command import Command
from tools.core.workspace import Workspace

PATH = "solution.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A prompt with its solution. name: of the function; source: of all definitions; tests: a program after it"""

    prompt: str
    name: str
    source: str
    tests: str

    def build_stub(self) -> str:
        """Return the source with a function that raises."""
        tree = ast.parse(self.source)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                node.body = [ast.parse("raise NotImplementedError").body[0]]
        return ast.unparse(tree)

    def build_half(self) -> str | None:
        """Return the source with the first half of the function's statements; None for one of a single statement."""
        tree = ast.parse(self.source)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                body = [each for each in node.body if not _is_text(each)]
                if len(body) < 2:
                    return None
                node.body = body[: len(body) // 2]
        return ast.unparse(tree)

    def build_other_answer(self) -> str:
        """Return the source with a function that answers nothing of what it did."""
        tree = ast.parse(self.source)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                node.body = [*node.body[:-1], ast.parse("def f(): return None").body[0].body[0]]  # type: ignore[attr-defined]
        return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def read_problems(mirrors: Path) -> list[Problem]:
    """Return the problems whose solution is a function at the top, in the order of their sets."""
    found = []
    packed = git(mirrors / HUMANEVAL / "repo", "show", "HEAD:data/HumanEval.jsonl.gz")
    for each in map(json.loads, gzip.decompress(packed).splitlines()):
        prompt = f"Write the body of the function in {PATH}:\n\n{each['prompt']}"
        source = each["prompt"] + each["canonical_solution"]
        found.append(
            Problem(
                prompt=prompt,
                name=each["entry_point"],
                source=source,
                tests=f"{each['test']}\ncheck({each['entry_point']})",
            )
        )
    for each in map(json.loads, git(mirrors / MBPP / "repo", "show", "HEAD:mbpp.jsonl").splitlines()):
        tests = "\n".join(each["test_list"])
        names = [node.name for node in _parse(each["code"]).body if isinstance(node, ast.FunctionDef)]
        asked = next((name for name in names if f"{name}(" in tests), None)
        if asked is not None:
            prompt = f"{each['text']} Your code should pass these tests:\n\n{tests}"
            found.append(
                Problem(prompt=prompt, name=asked, source=each["code"].replace("\r\n", "\n"), tests=tests)
            )
    return [each for each in found if _parse(each.source).body]


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


async def passes_tests(problem: Problem, source: str, at: Workspace) -> bool:
    """Return whether a source passes the tests of its problem, in the sandbox."""
    argv = (sys.executable, "-c", f"{source}\n{problem.tests}")
    done = await at.sandbox.run(
        Command(argv=argv, cwd=at.root, timeout=20.0, scope="read-only"), lambda chunk: None
    )
    return done.returncode == 0


async def iter_changes(
    problems: list[Problem], number: int, seed: int, at: Workspace
) -> AsyncIterator[tuple[str, str, Mapping[str, tuple[str, str]]]]:
    """Yield (way, prompt, contents): right and wrong in turn, the ways of wrong ones in turn."""
    draw = random.Random(seed)
    ways = ("no-op", "half", "other", "too much")
    made = 0
    while made < number:
        one, two, three = draw.sample(problems, 3)
        if len({one.name, two.name, three.name}) < 3:
            continue
        parts = [one.build_stub(), two.build_stub(), three.source.strip()]
        before = "\n\n\n".join(parts) + "\n"
        way = "right" if made % 2 == 0 else ways[(made // 2) % len(ways)]
        match way:
            case "right":
                parts[0] = one.source.strip()
            case "no-op":
                parts[0] = f"# Looked at.\n{parts[0]}"
            case "half":
                half = one.build_half()
                if half is None or await passes_tests(one, half, at):
                    continue
                parts[0] = half
            case "other":
                parts[1] = two.source.strip()
            case "too much":
                parts[0], parts[2] = one.source.strip(), three.build_other_answer()
        made += 1
        yield way, one.prompt, {PATH: (before, "\n\n\n".join(parts) + "\n")}
