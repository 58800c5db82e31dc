"""Valid code is no syntax error, however new its syntax is; brackets that a change loses beside it still are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.backends.selection import choose_sandbox
from tools.code.index.parsing.file_facts import detect_language, extract_facts
from tools.code.symbols import list_definitions
from tools.code.syntax import find_certain_problems, format_new_problems
from tools.code.syntax.compilers import Compilers

NEWEST = Path(__file__).parent / "newest"


def read_parts() -> Iterator[tuple[str, str, str]]:
    """The parts of all files: (name in a test, path by which the language is known, text)."""
    for file in sorted(NEWEST.glob("*.txt")):
        language, _, rest = file.name.partition(".")
        for number, part in enumerate(file.read_text("utf-8").split("%% ")[1:]):
            version, _, text = part.partition("\n")
            yield f"{version}-{number}", f"{language}.{rest.removesuffix('.txt')}", text


PARTS = list(read_parts())
IDS = [name for name, _, _ in PARTS]


@pytest.mark.parametrize(("path", "text"), [part[1:] for part in PARTS], ids=IDS)
def test_the_newest_syntax_is_no_error(path: str, text: str) -> None:
    assert find_certain_problems(path, None, text) == []
    assert find_certain_problems(path, text, text + "\n" + text) == []
    assert find_certain_problems(path, "", text) == []


@pytest.mark.slow
@pytest.mark.parametrize(("path", "text"), [part[1:] for part in PARTS], ids=IDS)
def test_a_compiler_of_any_version_proves_nothing_else(path: str, text: str, tmp_path: Path) -> None:
    compilers = Compilers(tmp_path, lambda: choose_sandbox(tmp_path, cache=tmp_path / "cache"))
    assert find_certain_problems(path, None, text, compilers) == []
    assert find_certain_problems(path, "", text, compilers) == []


LEXED = [part for part in PARTS if part[1] not in ("kotlin.kt", "swift.swift")]
"""Parts of languages whose grammars keep the brackets of what they do not understand."""


@pytest.mark.parametrize(("path", "text"), [part[1:] for part in LEXED], ids=[name for name, _, _ in LEXED])
def test_a_bracket_that_is_lost_beside_it_is_an_error(path: str, text: str) -> None:
    assert find_certain_problems(path, text, text + "\n}\n") != []


def test_what_no_version_accepts_is_an_error_of_python() -> None:
    assert "'(' was never closed" in format_new_problems("a.py", "x = 1\n", "x = (1\n")
    assert "invalid syntax" in format_new_problems("a.py", "x = 1\n", "x = = 1\n")
    assert "expected ':'" in format_new_problems("a.py", None, "def f()\n    return 1\n")
    newer = "class A[T = int]:\n    x = (1\n"
    assert format_new_problems("a.py", "class A[T = int]:\n    x = 1\n", newer) != ""


def test_a_file_of_an_older_python_is_not_blamed_for_it() -> None:
    before = "print 'a'\n"
    assert format_new_problems("a.py", before, before + "print 'b'\n") == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.py", "x = 1\n"), ("package.json", "{}"), ("a.toml", "a = 1\n"), ("a.php", "<?php f();\n")],
)
def test_a_byte_order_mark_is_no_error(path: str, text: str) -> None:
    assert find_certain_problems(path, None, f"\ufeff{text}") == []
    assert find_certain_problems(path, text, f"\ufeff{text}") == []
    assert find_certain_problems("a.py", None, "\ufeffx = = 1\n") != []


FUNCTIONS = {
    "py": "def {}():\n    return 1\n",
    "rs": "fn {}() -> i32 {{\n    1\n}}\n",
    "go": "func {}() int {{\n\treturn 1\n}}\n",
    "java": "class {} {{\n    int f() {{ return 1; }}\n}}\n",
    "cs": "class {}\n{{\n    int F() {{ return 1; }}\n}}\n",
    "cpp": "int {}() {{\n  return 1;\n}}\n",
    "kt": "fun {}(): Int {{\n    return 1\n}}\n",
    "rb": "def {}\n  1\nend\n",
    "swift": "func {}() -> Int {{\n    return 1\n}}\n",
}
FUNCTION = "function {}() {{\n  return 1;\n}}\n"


@pytest.mark.parametrize(("path", "text"), [part[1:] for part in PARTS], ids=IDS)
def test_definitions_behind_the_newest_syntax_are_found(path: str, text: str) -> None:
    function = FUNCTIONS.get(path.partition(".")[2], FUNCTION)
    whole = f"{text}\n{function.format('first')}\n{function.format('second')}"
    language = detect_language(path)
    assert language is not None
    facts = extract_facts(language, whole)
    assert facts is not None
    found = {each.name: (each.first, each.last) for each in list_definitions(path, whole)}
    mapped = {each.name: (each.first, each.last) for each in facts.symbols}
    assert (mapped["first"], mapped["second"]) == (found["first"], found["second"])
    length = function.count("\n")
    start = text.count("\n") + 2
    assert found["first"] == (start, start + length - 1)
    assert found["second"] == (start + length + 1, start + 2 * length)


UNKNOWN = {
    "m.cpp": "template for (constexpr auto m : members(^^S)) {}\n",
    "m.c": "defer { close(fd); }\nenum E : unsigned char { A = 1wb };\n",
    "m.cs": "public static class E { extension<T>(List<T> s) { public bool None => !s.Any(); } }\n",
}
"""Valid code that the grammars do not know."""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("m.cpp", 'auto s = R"x(a "b" )y" )x";\n'),
        ("m.cpp", 'auto s = L"a\\"b";\n'),
        ("m.cpp", 'auto s = u8R"(")";\n'),
        ("m.cpp", 'auto s = U"\\"";\n'),
        ("m.cpp", "char c = u8'\"';\n"),
        ("m.c", 'char *s = u8"a\\"";\n'),
        ("m.c", 'wchar_t *w = L"\\"";\n'),
        ("m.cs", 'var t = $@"a ""{b}""";\n'),
        ("m.cs", 'var v = $"""a {b} " c""";\n'),
    ],
)
def test_a_string_with_letters_before_its_quote_is_closed(path: str, line: str) -> None:
    new = UNKNOWN[path]
    assert find_certain_problems(path, "// x\n", f"// x\n{new}{line}") == []
    assert find_certain_problems(path, new, new + line) == []
    assert find_certain_problems(path, "// x\n", f"// x\n{new}void f() {{\n{line}") != []
