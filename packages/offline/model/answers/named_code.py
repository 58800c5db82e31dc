"""Names of a question, found in the code: definitions, test targets, candidates of an ambiguous name."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from packages.offline.model.answers.lookup import Call, limit_lines
from packages.offline.model.intent.question_topics import Question, is_test_name
from packages.offline.model.turn_steps import Step
from sandbox.lazy_pattern import compile_lazily

Found = Mapping[str, Any]
"""A definition: path, name, kind, line, first, last, signature, doc."""

MOST_TARGETS = 5

_FILE = compile_lazily(r"[\w./-]+\.\w+|[\w.-]+(?:/[\w.-]+)+")
_EXTENSION = compile_lazily(r"\.(?:pyi?|jsx?|tsx?|go|rs|java|c|h|cc|cpp|rb|php|kt|cs|toml|md|sql|sh)$")


def is_path(name: str) -> bool:
    """Return whether a name is one of a file or folder, not of something in it."""
    return "::" not in name and ("/" in name or bool(_EXTENSION.search(name)))


def find_test_targets(question: Question) -> Generator[Call, Step, list[str]]:
    """Return the targets of a test run: those that the question names, [] for all tests."""
    for name in question.names:
        if "::" in name or (is_path(name) and is_test_name(name)):
            listed = yield Call(
                tool="code", arguments={"action": "outline", "target": name.partition("::")[0]}
            )
            if not listed.result.failed:
                return [name]
        elif is_test_name(name) and not is_path(name):
            found = yield from find_definitions(name)
            targets = [build_target(each) for each in found if str(each["path"]).endswith(".py")]
            if targets:
                return targets[:MOST_TARGETS]
    return []


def find_definitions(name: str) -> Generator[Call, Step, list[Found]]:
    """Return the definitions of a name, those of the product before those of tests unless a test is asked for."""
    found, _ = yield from look_up(name)
    return found


def look_up(name: str) -> Generator[Call, Step, tuple[list[Found], Step]]:
    """Return the definitions of a name, and the step that looked it up."""
    step = yield Call(tool="code", arguments={"action": "find", "target": name})
    found = [each for each in step.data.get("code", ()) if isinstance(each, Mapping) and "path" in each]
    if not is_test_name(name):
        found.sort(key=lambda each: is_test_path(str(each["path"])))
    return found, step


def is_test_path(path: str) -> bool:
    """Return whether a file holds tests, by its name."""
    last = path.rpartition("/")[2]
    return bool(re.search(r"(?:^|/)(?:tests?|spec)/", path)) or bool(
        re.match(r"test_|.*(?:_test|\.test|\.spec|Test)\.\w+$|conftest\.py$", last)
    )


def build_target(found: Found) -> str:
    """Return the id of a Python test for a test run."""
    return f"{found['path']}::{str(found['name']).replace('.', '::')}"


def select_one(found: Sequence[Found]) -> Found | None:
    """Return the definition that a name means: the only one, or the only one outside tests; None if several."""
    if len(found) == 1:
        return found[0]
    product = [each for each in found if not is_test_path(str(each["path"]))]
    return product[0] if len(product) == 1 else None


def describe_candidates(name: str, found: Sequence[Found]) -> str:
    """Return Markdown that lists the candidates of an ambiguous name, and how to ask for one of them."""
    lines = [f"- {format_definition(each)}" for each in found]
    full = next((str(each["name"]) for each in found if each["name"] != name), "")
    sample = full or f"{found[0]['path']}::{found[0]['name']}"
    return "\n".join(
        [
            f"`{name}` is defined at {len(found)} places:",
            "",
            *limit_lines(lines),
            "",
            f"Ask for one of them, as `{sample}`.",
        ]
    )


def format_definition(found: Found) -> str:
    """Return `path:line`, name and signature of a definition."""
    signature = str(found.get("signature", "")).strip()
    return f"{found['path']}:{found['line']}: `{signature or found['name']}`" + (
        f" (`{found['name']}`)" if "." in str(found["name"]) else ""
    )


def describe_unknown(step_text: str) -> str:
    """Return a sentence about a name that is not defined, in the index's own words, which name near ones."""
    text = step_text.strip().partition("\n")[0].removeprefix("code: ")
    return text[:1].upper() + text[1:].rstrip(".") + "."
