"""Answers about names of the code: definition, uses, calls, description, tests."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from packages.offline.model.answers.lookup import Answer, Call, Lookup, NoAnswer, limit_lines
from packages.offline.model.answers.named_code import (
    Found,
    describe_candidates,
    describe_unknown,
    format_definition,
    is_path,
    is_test_path,
    look_up,
    select_one,
)
from packages.offline.model.answers.project_answers import find_by_words
from packages.offline.model.answers.test_bodies import describe_test
from packages.offline.model.intent.question_topics import Question, is_sure_name, is_test_name
from packages.offline.model.offline_messages import indent_block
from packages.offline.model.turn_steps import Step

_BY_NAME = (
    "an index of the code, by name: uses through strings, reflection or other languages are not in it, and another"
    " thing of the same name counts, too."
)
_READ = "this is read off the code, which was not run."
MOST_SHOWN = 40
"""Lines of a definition that are shown; for the rest its place is named."""


def find_definition(question: Question) -> Lookup:
    """Answer where a name is defined."""
    name, found, step = yield from _resolve(question)
    if step is None:
        return NoAnswer(reason="the question names nothing that can be looked up")
    if is_path(name):
        return (yield from _describe_file(name))
    if not found:
        return (yield from _search_words(question, step))
    if len(found) > 1:
        return Answer(text=describe_candidates(name, found), trust=_BY_NAME)
    one = found[0]
    doc = f"\n\n{one['doc']}" if one.get("doc") else ""
    return Answer(text=f"`{one['name']}` is defined at {format_definition(one)}{doc}", trust=_BY_NAME)


def find_uses(question: Question) -> Lookup:
    """Answer where a name is used, or which files import a file."""
    name, found, step = yield from _resolve(question)
    if step is None:
        return NoAnswer(reason="the question names nothing that can be looked up")
    if is_path(name):
        imports = yield Call(tool="code", arguments={"action": "imports", "target": name})
        return Answer(text=indent_block(imports.text), trust=_BY_NAME)
    if not found:
        return (yield from _search_words(question, step))
    target = str(found[0]["name"]) if len(found) == 1 else name
    uses = yield Call(tool="code", arguments={"action": "references", "target": target})
    listed = [each for each in uses.data.get("code", ()) if isinstance(each, Mapping)]
    if not listed:
        text = f"No use of `{target}` was found. It is defined at {format_definition(found[0])}."
        return Answer(text=text, trust=f"{_BY_NAME} So it may be used all the same.")
    several = f"\n\n{describe_candidates(name, found)}" if len(found) > 1 else ""
    return Answer(text=f"{indent_block(uses.text)}{several}", trust=_BY_NAME)


def find_called(question: Question) -> Lookup:
    """Answer what a function calls, or what a file imports."""
    name, found, step = yield from _resolve(question)
    if step is None:
        return NoAnswer(reason="the question names nothing that can be looked up")
    if is_path(name):
        imports = yield Call(tool="code", arguments={"action": "imports", "target": name})
        return Answer(text=indent_block(imports.text), trust=_READ)
    if not found:
        return (yield from _search_words(question, step))
    one = select_one(found)
    if one is None:
        return Answer(text=describe_candidates(name, found), trust=_BY_NAME)
    calls = yield Call(tool="code", arguments={"action": "callees", "target": str(one["name"])})
    return Answer(text=indent_block(calls.text), trust=f"{_BY_NAME} Calls of libraries are not listed.")


def describe_named(question: Question) -> Lookup:
    """Answer what a function, class or file is: signature, docstring, callers, callees."""
    name, found, step = yield from _resolve(question)
    if step is None:
        return (yield from find_by_words(question))
    if is_test_name(name):
        return (yield from describe_test(question))
    if is_path(name):
        return (yield from _describe_file(name))
    if not found:
        return (yield from _search_words(question, step))
    one = select_one(found)
    if one is None:
        return Answer(text=describe_candidates(name, found), trust=_BY_NAME)
    return (yield from _describe_definition(one, len(found)))


def find_tests(question: Question) -> Lookup:
    """Answer which tests cover a file or a name."""
    name, found, step = yield from _resolve(question)
    if step is None:
        return NoAnswer(reason="the question names nothing that can be looked up")
    if not is_path(name) and not found:
        return (yield from _search_words(question, step))
    path = name if is_path(name) else str(found[0]["path"])
    near = yield Call(tool="code", arguments={"action": "tests", "target": path})
    parts = [f"Tests near {path}:", indent_block(near.text)]
    if not is_path(name):
        uses = yield Call(tool="code", arguments={"action": "references", "target": name})
        lines = [
            f"- {each['path']}:{each['line']}" + (f" in `{each['within']}`" if each.get("within") else "")
            for each in uses.data.get("code", ())
            if isinstance(each, Mapping) and is_test_path(str(each.get("path", "")))
        ]
        named = [f"Tests that name `{name}`:", "\n".join(limit_lines(lines))]
        parts = [*(named if lines else [f"No test names `{name}`."]), *parts]
    return Answer(text="\n\n".join(parts), trust="by names and imports; no coverage was measured.")


def _resolve(question: Question) -> Generator[Call, Step, tuple[str, list[Found], Step | None]]:
    """Return the first name that is known, with its definitions and the step that looked it up."""
    first: tuple[str, Step] | None = None
    for name in question.names[:3]:
        if is_path(name):
            step = yield Call(tool="code", arguments={"action": "outline", "target": name})
            if not step.result.failed:
                return name, [], step
        else:
            found, step = yield from look_up(name)
            if found:
                return name, found, step
        first = first or (name, step)
    return (first[0], [], first[1]) if first is not None else ("", [], None)


def _describe_definition(one: Found, count: int) -> Lookup:
    name = str(one["name"])
    parts = [f"{format_definition(one)}"]
    if one.get("doc"):
        parts.append(f"Its documentation says: {one['doc']}")
    shown = yield Call(tool="code", arguments={"action": "show", "target": name})
    body = shown.text.splitlines()[1 : MOST_SHOWN + 1]
    parts.append(indent_block("\n".join(body)))
    if int(one.get("last", 0)) - int(one.get("first", 0)) >= MOST_SHOWN:
        parts.append(f"The rest: {one['path']}:{int(one['first']) + MOST_SHOWN}–{one['last']}.")
    for action, title in (("callees", "It calls:"), ("callers", "It is called by:")):
        step = yield Call(tool="code", arguments={"action": action, "target": name})
        lines = step.text.splitlines()
        if not step.result.failed and len(lines) > 1:
            parts += [title, indent_block("\n".join(limit_lines(lines[1:])))]
        else:
            parts.append(
                f"{title} nothing that is defined here." if action == "callees" else f"{title} nothing."
            )
    if count > 1:
        parts.append(f"There are {count - 1} more of this name, in tests.")
    return Answer(
        text="\n\n".join(parts),
        trust=f"{_READ} What it is meant to do is said only by its documentation, where it has any."
        " Callers are found by name.",
    )


def _describe_file(path: str) -> Lookup:
    outline = yield Call(tool="code", arguments={"action": "outline", "target": path})
    if outline.result.failed:
        return Answer(text=describe_unknown(outline.text), trust="the list of the project's files.")
    parts = [indent_block(outline.text)]
    imports = yield Call(tool="code", arguments={"action": "imports", "target": path})
    if not imports.result.failed:
        parts.append(indent_block(imports.text))
    return Answer(text="\n\n".join(parts), trust=f"{_READ} It says what is there, not what it is for.")


def _search_words(question: Question, step: Step) -> Lookup:
    """Say that a name is unknown, and where the words of the question lead."""
    unknown = describe_unknown(step.text)
    found = yield from find_by_words(question)
    if isinstance(found, NoAnswer):
        if question.topic in ("describe", "words") and not is_sure_name(question.names[0]):
            return found  # a word of the language rather than a name
        return Answer(text=unknown, trust=_BY_NAME)
    return Answer(text=f"{unknown}\n\n{found.text}", trust=found.trust)
