"""Answers about a whole project: its parts, its tests' command, and where the code is that words speak of."""

from __future__ import annotations

from collections.abc import Mapping

from packages.offline.model.answers.lookup import Answer, Call, Lookup, NoAnswer, limit_lines
from packages.offline.model.answers.named_code import find_test_targets
from packages.offline.model.intent.question_topics import Question
from packages.offline.model.offline_messages import ABILITIES, indent_block

MOST_README = 12
"""Lines of a README that are quoted: its title and its first paragraphs."""
_READMES = ("README.md", "README.rst", "README.txt", "README")


def describe_project(question: Question) -> Lookup:
    """Answer what a project is made of."""
    parts = []
    listing = yield Call(tool="list", arguments={"path": ".", "depth": 1})
    names = listing.text.split()
    readme = next((name for name in _READMES if name in names), "")
    if readme:
        told = yield Call(tool="read", arguments={"path": readme, "end": 40})
        if lines := _read_first_paragraphs(told.text):
            parts += [f"{readme} says:", "\n".join(f"> {line}".rstrip() for line in lines)]
    folders = yield Call(tool="code", arguments={"action": "outline", "target": "."})
    code = yield Call(tool="code", arguments={"action": "map", "target": question.text})
    parts += ["Its files:", indent_block(listing.text)]
    if not folders.result.failed:
        parts += [
            "What they define:",
            indent_block("\n".join(limit_lines(folders.text.splitlines(), 30))),
        ]
    if not code.result.failed:
        parts += [
            "What is used most:",
            indent_block("\n".join(limit_lines(code.text.splitlines(), 40))),
        ]
    return Answer(
        text="\n\n".join(parts),
        trust="names and files as they are; what is important is guessed by how much of the code uses it.",
    )


def find_test_command(question: Question) -> Lookup:
    """Answer how the tests are run."""
    targets = yield from find_test_targets(question)
    found = yield Call(tool="show_test_command", arguments={"targets": targets})
    told = found.data.get("test_command")
    if not isinstance(told, Mapping):
        return Answer(
            text=f"No way to run tests was found.\n\n{indent_block(found.text)}",
            trust="the runners that Patchwright knows; another can be named with tests.command.",
        )
    text = f"With {told['runner']}:\n\n{indent_block(str(told['command']))}"
    if told["runner"] == "pytest" and not targets:
        text += f"\n\nA single test:\n\n{indent_block(str(told['command']) + ' PATH::NAME')}"
    text += '\n\nHere: `patchwright run --model offline "which tests fail?"`, or `/tests` in a conversation.'
    return Answer(text=text, trust="the runner was chosen by the project's files; nothing was run.")


def find_by_words(question: Question) -> Lookup:
    """Answer where the code is that the words of a question speak of."""
    found = yield Call(tool="code", arguments={"action": "locate", "target": question.text})
    data = found.data.get("code")
    if found.result.failed or not isinstance(data, Mapping) or not data.get("files"):
        return NoAnswer(reason="nothing in the code resembles its words")
    functions = [f"- {each['path']}:{each['first']}: `{each['name']}`" for each in data.get("functions", ())]
    files = [f"- {each['path']}" for each in data["files"]]
    parts = ["The code that your words speak of, the likeliest first:", "\n".join(limit_lines(functions, 8))]
    parts += ["Files:", "\n".join(limit_lines(files, 6))]
    return Answer(
        text="\n\n".join(part for part in parts if part),
        trust="found by words alone: a first place to read, no explanation.",
    )


def _read_first_paragraphs(text: str) -> list[str]:
    """Return the first paragraphs of a file from a `read`, without line numbers, badges and fences."""
    lines = [line.partition("\t")[2] for line in text.splitlines()[1:] if "\t" in line]
    lines = [line for line in lines if not line.lstrip().startswith(("<", "[![", "![", "```"))]
    found: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        added = paragraph.strip("\n").split("\n")
        if found and len(found) + len(added) >= MOST_README:
            break
        found += [*([""] if found else []), *added]
    return found[:MOST_README]


def describe_abilities(question: Question) -> Lookup:
    """Answer what the engine can do, and how the tests are run that it would begin with."""
    found = yield Call(tool="show_test_command", arguments={"targets": []})
    told = found.data.get("test_command")
    if isinstance(told, Mapping):
        runs = f"The tests run here with {told['runner']}:\n\n{indent_block(str(told['command']))}"
    else:
        runs = "No way to run tests was found here, and without tests there is no repair: see `patchwright doctor`."
    return Answer(text=f"{ABILITIES}\n\n{runs}", trust="it is what the engine is made for.")
