"""Answers about what a test checks: its assertions in words, what it calls, its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packages.offline.model.answers.assertion_words import TestContent, read_test
from packages.offline.model.answers.lookup import Answer, Call, Lookup, NoAnswer, limit_lines
from packages.offline.model.answers.named_code import (
    Found,
    describe_candidates,
    describe_unknown,
    is_path,
    look_up,
)
from packages.offline.model.intent.question_topics import Question, is_test_name
from packages.offline.model.offline_messages import indent_block
from sandbox.lazy_pattern import compile_lazily

_READ = "the words are read off the test's code, which was not run: they say what it demands, not why."
MOST_TESTS = 25
"""Tests of a file that are described."""
MOST_BODY = 40
"""Lines of a test that are shown."""

_ASSERTING = compile_lazily(
    r"^\s*assert\b|\bassert\w*\s*[.(!]|\bexpect\w*\s*\(|\brequire\.\w+\(|\bshould\b|\bt\.(?:Error|Fatal)\w*\("
)


def describe_test(question: Question) -> Lookup:
    """Answer what a test, or a file of tests, checks."""
    name = next((each for each in question.names if is_test_name(each)), next(iter(question.names), ""))
    if not name:
        return NoAnswer(reason="the question names no test")
    if is_path(name):
        return (yield from _describe_test_file(name))
    found, step = yield from look_up(name.rpartition("::")[2] if "::" in name else name)
    if "::" in name:
        found = [each for each in found if str(each["path"]) == name.partition("::")[0]] or found
    if not found:
        return Answer(text=describe_unknown(step.text), trust="an index of the code, by name.")
    if len(found) > 1:
        return Answer(text=describe_candidates(name, found), trust="an index of the code, by name.")
    return (yield from _describe_one(found[0]))


def _describe_one(found: Found) -> Lookup:
    name = str(found["name"])
    shown = yield Call(tool="code", arguments={"action": "show", "target": name})
    body = [line.partition("\t")[2] for line in shown.text.splitlines()[1:] if "\t" in line]
    parts = [f"`{name}`, {found['path']}:{found['first']}–{found['last']}"]
    content = read_test("\n".join(body)) if str(found["path"]).endswith(".py") else None
    parts += _describe_content(content) if content is not None else _list_asserting_lines(body)
    calls = yield Call(tool="code", arguments={"action": "callees", "target": name})
    lines = calls.text.splitlines()[1:]
    if lines and not calls.result.failed:
        parts += ["Of the project it calls:", indent_block("\n".join(limit_lines(lines)))]
    shown_lines = body[:MOST_BODY]
    rest = f"\n… {len(body) - MOST_BODY} more lines" if len(body) > MOST_BODY else ""
    parts += ["Its body:", indent_block("\n".join(shown_lines) + rest)]
    return Answer(text="\n\n".join(parts), trust=_READ)


def _describe_content(content: TestContent) -> list[str]:
    parts = []
    if content.doc:
        parts.append(f"Its documentation says: {content.doc}")
    if content.given:
        parts.append(f"It is given: {', '.join(content.given)}")
    if content.assertions:
        parts.append(
            "\n".join(["It checks that:", "", *limit_lines([f"- {each}" for each in content.assertions])])
        )
    else:
        parts.append("It asserts nothing itself: it passes if what it calls raises no exception.")
    return parts


def _list_asserting_lines(body: Sequence[str]) -> list[str]:
    lines = [line.strip() for line in body if _ASSERTING.search(line)]
    if not lines:
        return ["No line of it looks like an assertion."]
    return ["Its lines that look like assertions:", indent_block("\n".join(limit_lines(lines)))]


def _describe_test_file(path: str) -> Lookup:
    outline = yield Call(tool="code", arguments={"action": "outline", "target": path})
    if outline.result.failed:
        return Answer(text=describe_unknown(outline.text), trust="the list of the project's files.")
    data = outline.data.get("code")
    symbols = (
        [each for each in data.get("symbols", ()) if isinstance(each, Mapping)]
        if isinstance(data, Mapping)
        else []
    )
    tests = [
        each
        for each in symbols
        if is_test_name(str(each["name"]).rpartition(".")[2]) and each.get("kind") in ("function", "method")
    ]
    if not tests:
        told = yield Call(tool="read", arguments={"path": path})
        body = [line.partition("\t")[2] for line in told.text.splitlines()[1:] if "\t" in line]
        text = "\n\n".join([indent_block(outline.text), *_list_asserting_lines(body)])
        return Answer(text=text, trust="this is read off the code, which was not run.")
    told = yield Call(tool="read", arguments={"path": path, "start": 1, "end": int(tests[-1]["last"])})
    lines = {
        int(number): code
        for number, tab, code in (line.partition("\t") for line in told.text.splitlines())
        if tab and number.strip().isdecimal()
    }
    shown = [_describe_briefly(each, lines) for each in tests[:MOST_TESTS]]
    more = f"\n… {len(tests) - MOST_TESTS} more tests" if len(tests) > MOST_TESTS else ""
    head = f"{path} has {len(tests)} test{'s' if len(tests) != 1 else ''}:"
    return Answer(text="\n".join([head, "", *shown]) + more, trust=_READ)


def _describe_briefly(test: Mapping[str, object], lines: Mapping[int, str]) -> str:
    first, last = int(str(test["first"])), int(str(test["last"]))
    content = read_test("\n".join(lines.get(number, "") for number in range(first, last + 1)))
    told = "; ".join(content.assertions[:3]) if content is not None else ""
    more = (
        f" and {len(content.assertions) - 3} more"
        if content is not None and len(content.assertions) > 3
        else ""
    )
    return f"- `{test['name']}` (line {test['line']}): {told or 'no assertion of its own was read'}{more}"
