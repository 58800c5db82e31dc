"""Units of test files in JavaScript, TypeScript, Go, Java, Ruby and the like, by their grammars.

The grammar says where a test begins and ends and what is a comment; the lines within are judged by tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set
from tools.lint.honesty.test_units import Check, TestFile, TestUnit

if TYPE_CHECKING:
    from tree_sitter import Node

LANGUAGES = parse_word_set("javascript typescript tsx go java ruby kotlin rust csharp php")

_FLAT = frozenset({"go", "java", "rust", "csharp", "php"})
_FUNCTIONS = frozenset(
    {"function_declaration", "method_declaration", "function_item", "method", "function_definition"}
)
_CALLS = frozenset({"call_expression", "call"})
_SUITE = compile_lazily(r"^x?(?:describe|context|suite|f?describe)(?:\.(?P<mark>\w+))?$|^RSpec\.describe$")
_TEST = compile_lazily(
    r"^(?P<x>[xf])?(?:it|test|specify|scenario|Deno\.test)(?:\.(?P<mark>\w+))*(?:\.each\(.*)?$", re.DOTALL
)
_GO_NAME = compile_lazily(r"^(?:Test|Benchmark|Example|Fuzz)(?:[^a-z]|$)")
_TEST_NAME = compile_lazily(r"^(?:Test|Benchmark|Example|Fuzz)[A-Z_]?|^test")

_TEST_MARK = compile_lazily(r"@Test|#\[test\]|\[Fact")

_ASSERT = compile_lazily(
    r"\bexpect\s*\(|\bassert\w*[.(!]"
    r"|\bt\.(?:Error|Fatal|Fail)\w*\(|\brequire\.\w+\(|\bassert(?:_\w+)?[ (]|\.should[\s.]"
    r"|\bexpect\s*\{|\bAssertions?\.|\bis_expected\b|\bverify\(|\bt\.(?:is|not|deepEqual|truthy|throws|like)\("
    r"|\sshould[A-Z]\w*\s|\b(?:check|verify|must|validate|ensure)\w*\(|\bassert_\w+|\bdone\(\)|\.expect\("
)
_STRENGTH: tuple[tuple[int, re.Pattern[str]], ...] = (
    (
        0,
        compile_lazily(
            r"expect\(\s*(?P<a>true|false|1|null|undefined|\"[^\"]*\"|'[^']*')\s*\)\.(?:to\w+)\(\s*(?P=a)?\s*\)"
            r"|expect\((?P<b>[\w.()\[\]]+)\)\.(?:toBe|toEqual|toStrictEqual)\((?P=b)\)"
            r"|toBeGreaterThanOrEqual\(\s*0\s*\)|toBeGreaterThan\(\s*-1\s*\)|\.length\s*>=\s*0|expect\.anything\(\)\s*\)$"
            r"|assert(?:True)?(?:\.ok|\.True)?\((?:t,\s*)?true\b|assert\.(?:strictE|e|deepE)qual\((?P<c>[\w.()]+),\s*(?P=c)\)"
            r"|assert\.(?:Equal|NotNil)\(t,\s*(?P<d>[\w.()]+),\s*(?P=d)\)|assertTrue\(true\)|\|\|\s*true\b|\bor true\b"
            r"|assert_equal (?P<e>[\w.]+), (?P=e)\s*$|assert true\b|assertEquals\((?P<f>[\w.()]+),\s*(?P=f)\)"
            r"|expect\(true\)\.to|\.to\.be\.ok\(true\)|if (?:false|1 == 2)\b"
        ),
    ),
    (
        1,
        compile_lazily(
            r"\.toBe(?:Truthy|Defined)\(|\.not\.|toHaveBeenCalled\(\)|toThrow\(\)|assert(?:\.ok)?\(|NotNil|NotEqual|NotEmpty"
            r"|assertNotNull|assertTrue|be_truthy|not_to|refute|\.to\.exist|\.to\.be\.ok|assert\.True|notEqual|!=="
            r"|toBeInstanceOf|be_a\b|be_present|assert_not_nil|\bassert [^,]*$|toBeTypeOf|expect\.any\(|IsType"
        ),
    ),
    (
        2,
        compile_lazily(
            r"toContain|toMatch|toBeCloseTo|toMatchObject|toBeGreater|toBeLess|Contains|InDelta|InEpsilon|include|match"
            r"|Greater|Less|closeTo|above|below|Regexp|be_within|Subset|ElementsMatch|arrayContaining|objectContaining"
            r"|stringContaining|toHaveLength|assertThat.*contains"
        ),
    ),
)
_TOLERANCE = compile_lazily(
    r"(?:InDelta|InEpsilon|closeTo|be_within|assertEquals)\(.*?(?P<n>\d+(?:\.\d+)?(?:e-?\d+)?)\s*\)"
)
_DIGITS = compile_lazily(r"toBeCloseTo\([^,]+,\s*(?P<n>\d+)\)")
_SKIP = compile_lazily(
    r"\b(?:it|test|describe|context|suite)\.(?:skip|todo|failing)\b|\bx(?:it|describe|test|context|specify)\b"
    r"|\bt\.Skip(?:f|Now)?\(|#\[ignore|@(?:Disabled|Ignore)\b|^\s*(?:skip|pending)(?:\s*$|\s+[\"\x27(]|\()|\bthis\.skip\(|\bt\.skip\("
    r"|\bmarkTestSkipped|\[Fact\(Skip|Assume\.\w+\(false|assumeTrue\(false"
)
_CONDITION = compile_lazily(r"\bif\b|\?|skipIf|runIf|EnabledOn|DisabledOn|testing\.Short|unless")
_ONLY = compile_lazily(
    r"\b(?:it|test|describe|context|suite)\.only\(|\bf(?:it|describe)\(|\bfcontext\b|, focus: true"
)
_RETRY = compile_lazily(
    r"\bretryTimes\(|\bthis\.retries\(|\bretry:\s*\d|@(?:RepeatedIfExceptions|Retry|RetryingTest)|\bretries:\s*\d|retry_on"
)
_TIMEOUT = compile_lazily(
    r"(?:setTimeout|timeout|Timeout)\w*\s*[(:=]+\s*(?:[^,()\d]*,\s*)?(?P<n>\d[\d_]*)(?!\w)|(?P<m>\d+)\s*\*\s*time\.(?:Second|Minute)"
    r"|\},\s*(?P<k>\d[\d_]{3,})\s*\)"
)
_SLEEP = compile_lazily(r"\btime\.Sleep\(|\bsleep[ (]\d|Thread\.sleep\(|setTimeout\(\s*(?:resolve|done|r)\b")
_PATCH = compile_lazily(
    r"(?:jest|vi|sinon)\.(?:spyOn|stub|mock|replace)\(\s*(?:[\w.]+\s*,\s*)?[\"'`](?:[^\"'`]*/)?(?P<name>[\w.-]+)[\"'`]"
    r"|allow\((?P<ruby>[\w.]+)\)\.to receive\(:(?P<method>\w+)\)|\bwhen\((?P<java>[\w.]+)\(.*thenReturn"
    r"|^\s*(?:(?:const|let|var)\s+)?(?P<set>[\w.]+)\s*:?=\s*"
    r"(?:func\(|jest\.fn|vi\.fn|\([^)]*\)\s*=>|async \(|function\b)"
)
_EXIT = compile_lazily(
    r"\bos\.Exit\(0\)|\bprocess\.exit\(\s*0?\s*\)|System\.exit\(0\)|\bexit!?\(?0\)?\s*$|runtime\.Goexit\("
)
_RETURN = compile_lazily(r"^\s*return\s*;?\s*$|^\s*return;?$|^\s*(?:done\(\);\s*return|return done\(\))")
_NEVER = compile_lazily(
    r"\bif\s*\(?\s*(?:false|0|!1)\s*\)?\s*(?:\{|$)|\bfor\s*\(.*of \[\]\)|\bwhile\s*\(false\)"
)
_RAISES = compile_lazily(r"(?:assertThrows|toThrow|raise_error|rejects)\(\s*(?P<name>[A-Z]\w+)")
_IF = compile_lazily(r"^\s*(?:\}?\s*else\s+)?(?:if|unless)\b")
_CATCH = compile_lazily(
    r"\bcatch\s*(?:\([^)]*\))?\s*\{|^\s*rescue\b|\brecover\(\)|\.catch\(\s*(?:\(\w*\)|\w+)\s*=>\s*(?:\{\s*\}|null|undefined)"
)
_CALL = compile_lazily(r"\b([A-Za-z_]\w+)\s*\(")
_FACTS = compile_lazily(
    r"""("[^"]*"|'[^']*'|`[^`]*`|\b\d[\w.]*|[=!<>]=+|[<>]|\|\||&&|\b(?:true|false|null|nil|None|True|False)\b"""
    r"""|\b(?:to[A-Z]\w+|assert\w*|fail\w*)\b)"""
)
_WRAPPER = compile_lazily(
    r"\b(?:len|length|sort|sorted|toLowerCase|trim|Object\.keys|typeof|slice|Math\.round|String)\b"
)
_AWAIT, _PROMISE = compile_lazily(r"\b(?:await|return)\b"), compile_lazily(r"\.(?:resolves|rejects)\b")


def parse_test_file(path: str, source: str) -> TestFile | None:
    """Return the units of a file; None for a language without units, or without its grammar."""
    from tools.code.languages import detect_languages, parse_text

    language = next((each for each in detect_languages(path) if each.name in LANGUAGES), None)
    if language is None:
        return None
    tree = parse_text(language, source)
    data = source.encode("utf-8", "replace")
    found = TestFile()
    _collect(tree.root_node, found, data, flat=language.name in _FLAT, is_go=language.name == "go")
    for number, line in enumerate(source.splitlines(), 1):
        if _ONLY.search(line):
            found.only.append((number, line.strip()))
        if re.match(r"//\s*(?:go:build|\+build)\s+(?:ignore|never|manual|skip\w*|!\w+)", line):
            found.skips.append((line.strip(), bool(re.search(r"build\s+!", line))))
    return found


def _collect(node: Node, found: TestFile, data: bytes, *, flat: bool, is_go: bool) -> None:
    """Collect the units below a node. flat: functions hold no tests of their own"""
    stack: list[tuple[Node, str]] = [(node, "")]
    while stack:
        each, where = stack.pop()
        inner = where
        if each.type in _FUNCTIONS:
            name_node = each.child_by_field_name("name")
            if name_node is not None:
                name = _read(name_node, data)
                marks = _read_marks(each, data)
                is_test = bool((_GO_NAME if is_go else _TEST_NAME).match(name) or _TEST_MARK.search(marks))
                _add(found, name, where, each, data, is_test=is_test, marks=marks)
                inner = f"{where}.{name}" if where else name
            if flat:
                continue
        elif each.type in _CALLS:
            called, title = _read_call(each, data)
            if title is not None and _SUITE.match(called):
                inner = f"{where}.{title}" if where else title
                if _SKIP.search(called):
                    found.skips.append((f"{called} {title}", False))
            elif title is not None and _TEST.match(called):
                _add(found, title, where, each, data, is_test=True, marks="")
                continue
        stack.extend((child, inner) for child in reversed(each.named_children))


def _read(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _read_marks(node: Node, data: bytes) -> str:
    """Return annotations and attributes that stand before a function."""
    found = []
    previous = node.prev_sibling
    while previous is not None and previous.type in ("attribute_item", "annotation", "marker_annotation"):
        found.append(_read(previous, data))
        previous = previous.prev_sibling
    found += (_read(child, data) for child in node.children if child.type in ("modifiers", "attribute_list"))
    return " ".join(found)


def _has_block(node: Node | None) -> bool:
    """Return whether a call of Kotlin is one with a block behind it."""
    return (
        node is not None
        and node.type == "call_expression"
        and [each.type for each in node.named_children] == ["call_expression", "annotated_lambda"]
    )


def _read_call(node: Node, data: bytes) -> tuple[str, str | None]:
    """Return what is called, and the first argument if it is a string."""
    function = node.child_by_field_name("function") or node.child_by_field_name("method")
    receiver = node.child_by_field_name("receiver")
    arguments = node.child_by_field_name("arguments")
    if function is None and node.type == "call_expression":  # Kotlin's calls have no fields
        if _has_block(node.parent):
            return "", None  # the call with its block is the one that counts
        head = node.named_children[0] if _has_block(node) else node
        function, arguments = (*head.named_children, None, None)[:2]
        arguments = arguments if arguments is not None and arguments.type == "value_arguments" else None
    if function is None or function.end_byte - function.start_byte > 200:
        return "", None
    called = _read(function, data)
    if receiver is not None:
        called = f"{_read(receiver, data)[:60]}.{called}"
    first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    if first is not None and first.type == "value_argument" and first.named_children:
        first = first.named_children[0]
    if first is None:
        return called, None
    if first.type in ("string", "template_string", "interpreted_string_literal", "string_literal"):
        return called, _read(first, data).strip("\"'`")
    return called, _read(first, data)[:60] if _SUITE.match(called) else None


def _add(
    found: TestFile, name: str, scope: str, node: Node, data: bytes, *, is_test: bool, marks: str
) -> None:
    qualified = f"{scope}.{name.replace('.', '·')}" if scope else name.replace(".", "·")
    if qualified in found.units and is_test:
        qualified += f"#{node.start_point[0]}"
    text = _read(node, data)
    body_node = node.child_by_field_name("body") or node.child_by_field_name("arguments") or node
    body = "\n".join(line.strip() for line in _read(body_node, data).splitlines()[1:])
    found.units[qualified] = TestUnit(
        name=qualified,
        line=node.start_point[0] + 1,
        text=f"{marks}\n{text}" if marks else text,
        body=body,
        is_test=is_test,
    )


_COMMENT = compile_lazily(r"(?<![:\"'`])//[^\n]*|/\*.*?\*/|^\s*#(?!\[)[^\n]*", re.DOTALL | re.MULTILINE)


def analyse_unit(unit: TestUnit) -> None:
    """Fill in the checks of a unit and what keeps them from counting, from its lines without comments."""
    lines = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), unit.text).split("\n")
    depth = 0
    blocks: list[tuple[int, str]] = []
    returned_at: int | None = None
    catches = any(_CATCH.search(line) for line in lines) and not re.search(
        r"(?:catch\s*(?:\([^)]*\))?\s*\{|rescue\b)[^}]{0,200}(?:throw|raise|fail|expect|assert|done\(\s*e)",
        "\n".join(lines),
    )
    tries = [
        number for number, line in enumerate(lines) if re.search(r"\btry\s*\{|^\s*begin\b|defer func", line)
    ]
    for number, line in enumerate(lines):
        while blocks and depth <= blocks[-1][0]:
            blocks.pop()
        if _IF.match(line) or _NEVER.search(line):
            blocks.append((depth, "never" if _NEVER.search(line) else "if"))
        kinds = [kind for _, kind in blocks]
        if _SKIP.search(line):
            unit.skips.append((line.strip()[:70], "if" in kinds or bool(_CONDITION.search(line))))
        if _RETURN.match(line) and not kinds and returned_at is None and depth <= 1 + lines[0].count("("):
            returned_at = number
        if match := _EXIT.search(line):
            unit.exits.append(match[0])
        if _RETRY.search(line):
            unit.retries.append(line.strip()[:70])
        if _SLEEP.search(line):
            unit.sleeps.append(line.strip()[:70])
        unit.timeouts += _list_timeouts(line)
        for match in _PATCH.finditer(line):
            name = next(filter(None, (match["method"], match["name"], match["java"], match["set"])))
            unit.patched[name.rpartition(".")[2]] += 1
        if _ASSERT.search(line):
            if returned_at is not None or "never" in kinds:
                unit.unreached += 1
            else:
                unit.checks.append(_make_check(unit, number, line))
                unit.calls.update(_CALL.findall(line))
                unit.guarded += "if" in kinds and not re.search(r"\bt\.(?:Error|Fatal|Fail)", line)
                unit.swallowed += ".catch(" in line or (catches and any(at < number for at in tries))
        depth += line.count("{") - line.count("}")
        depth += len(re.findall(r"\bdo\b\s*(?:\|.*\|)?\s*$", line)) - bool(re.match(r"\s*end\b", line))


def _list_timeouts(line: str) -> Iterator[float]:
    for match in _TIMEOUT.finditer(line):
        value = next(filter(None, (match["n"], match["m"], match["k"])), None)
        if value is not None:
            yield float(value.replace("_", ""))


def _make_check(unit: TestUnit, number: int, line: str) -> Check:
    text = line.strip()
    tolerance = None
    if match := _DIGITS.search(text):
        tolerance = 10.0 ** -float(match["n"])
    elif match := _TOLERANCE.search(text):
        tolerance = float(match["n"])
    return Check(
        line=unit.line + number,
        text=text,
        facts=Counter(_FACTS.findall(text)),
        strength=next((grade for grade, pattern in _STRENGTH if pattern.search(text)), 3),
        raises=tuple(match["name"] for match in _RAISES.finditer(text)),
        tolerance=tolerance,
        wrappers=Counter(_WRAPPER.findall(text)),
        has_match=bool(_AWAIT.search(text) and _PROMISE.search(text)),
        shape=re.sub(r"\s+", " ", text),
    )
