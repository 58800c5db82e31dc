"""Templates that know no language: what they propose in each, and in which order."""

from __future__ import annotations

import pytest

from packages.offline.repair.languages.call_reach import SuspectFunction, rank_functions
from packages.offline.repair.languages.function_scope import Scope
from packages.offline.repair.languages.parsed_source import ParsedFile, is_test_file
from packages.offline.repair.languages.tree_candidates import generate_candidates
from packages.offline.repair.languages.tree_templates import RULES
from tools.code.languages import detect_languages
from tools.testing.report import make_failure


def code(path: str, text: str) -> ParsedFile:
    return ParsedFile(path, text, detect_languages(path)[0])


def proposed(path: str, text: str) -> dict[str, set[str]]:
    """Rule → the texts that it makes of the file's first function."""
    file = code(path, text)
    scope = Scope(file, file.functions[0])
    source = file.source
    return {
        rule.name: {
            (source[: c.start] + c.text.encode() + source[c.end :]).decode() for c in rule.changes(scope)
        }
        for rule in RULES
    }


BODIES = {
    "a.go": """\
package a

func f(a []int, n int) int {
\tif n < 3 && a != nil {
\t\treturn a[n] - 1
\t}
\tn += 2
\treturn g(a[0], n)
}
""",
    "a.js": """\
function f(a, n) {
  if (n < 3 && a != null) {
    return a[n] - 1;
  }
  n += 2;
  return g(a[0], n);
}
""",
    "a.ts": """\
function f(a: number[], n: number): number {
  if (n < 3 && a != null) {
    return a[n] - 1;
  }
  n += 2;
  return g(a[0], n);
}
""",
    "A.java": """\
class A {
  int f(int[] a, int n) {
    if (n < 3 && a != null) {
      return a[n] - 1;
    }
    n += 2;
    return g(a[0], n);
  }
}
""",
    "a.c": """\
int f(int *a, int n)
{
    if (n < 3 && a != NULL) {
        return a[n] - 1;
    }
    n += 2;
    return g(a[0], n);
}
""",
    "a.rs": """\
fn f(a: &[i32], n: usize) -> i32 {
    if n < 3 && a != NONE {
        return a[n] - 1;
    }
    n += 2;
    return g(a[0], n);
}
""",
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("comparison_boundary", "n < 3", "n <= 3"),
        ("comparison_operator", "n < 3", "n > 3"),
        ("logical_operator", "&&", "||"),
        ("number", "n < 3", "n < 4"),
        ("arithmetic_operator", "a[n] - 1", "a[n] + 1"),
        ("off_by_one", "a[n]", "a[n - 1]"),
        ("dropped_operand", "a[n] - 1", "a[n]"),
        ("swapped_operands", "a[n] - 1", "1 - a[n]"),
        ("swapped_arguments", "g(a[0], n)", "g(n, a[0])"),
        ("assignment_operator", "n += 2", "n -= 2"),
        ("variable", "a[n]", "n[n]"),
        ("unwrapped", "g(a[0], n)", "a[0]"),
        ("borrowed_expression", "g(a[0], n)", "g(a[n], n)"),
    ],
)
def test_a_change_is_proposed_in_every_language(path: str, rule: str, old: str, new: str) -> None:
    text = BODIES[path]
    assert old in text
    assert text.replace(old, new, 1) in proposed(path, text)[rule]


HEADS = {
    "a.go": "func f(a, b, c int) string {",
    "a.js": "function f(a, b, c) {",
    "a.ts": "function f(a: number, b: number, c: number) {",
    "A.java": "class A { String f(int a, int b, int c) {",
    "a.cpp": "string f(int a, int b, int c) {",
    "a.rs": "fn f(a: i32, b: i32, c: i32) -> &str {",
}
BODY = """
  if (a > 0 && b > 0 && c > 0) {
    return "(";
  }
  return "yes";
}
"""
VALUES = {path: f"{head}{BODY}{'}' if '{' in head[:-1] else ''}" for path, head in HEADS.items()}
VALUES["a.cpp"] = VALUES["a.cpp"].replace("&&", "and")


@pytest.mark.parametrize("path", VALUES)
@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("text_literal", '"("', '"["'),
        ("text_literal", '"("', '")"'),
        ("text_literal", '"yes"', '"Yes"'),
        ("text_literal", '"yes"', '"ye"'),
        ("text_literal", '"yes"', '"("'),
        ("logical_chain", "a > 0 && b > 0 && c > 0", "a > 0 || b > 0 || c > 0"),
    ],
)
def test_texts_and_chains_change_in_every_language(path: str, rule: str, old: str, new: str) -> None:
    text = VALUES[path]
    if path == "a.cpp":
        old, new = old.replace("&&", "and"), new.replace("||", "or")
    assert old in text
    assert text.replace(old, new, 1) in proposed(path, text)[rule]


@pytest.mark.parametrize("path", VALUES)
def test_two_results_change_places(path: str) -> None:
    text = VALUES[path]
    expected = text.replace('"("', '"-"').replace('"yes"', '"("').replace('"-"', '"yes"')
    assert expected in proposed(path, text)["exchanged_values"]


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.js", "function f(a, b) {\n  return a - b < 3;\n}\n", "a - b", "Math.abs(a - b)"),
        ("a.js", "function f(a, b) {\n  let d = a - b;\n  return d;\n}\n", "a - b", "Math.abs(a - b)"),
        ("A.java", "class A {\n  int f(int a, int b) {\n    return a - b;\n  }\n}\n", "a - b", "Math.abs(a - b)"),
        ("a.cpp", "bool f(int a, int b) {\n  return a-b<3;\n}\n", "a-b", "abs(a-b)"),
        ("a.rs", "fn f(a: i32, b: i32) -> bool {\n    a - b < 3\n}\n", "a - b", "(a - b).abs()"),
    ],
)  # fmt: skip
def test_the_amount_of_a_difference_is_taken(path: str, text: str, old: str, new: str) -> None:
    assert text.replace(old, new) in proposed(path, text)["distance"]


def test_what_a_condition_looks_into_may_be_missing() -> None:
    text = """\
class A {
  boolean f(Node a) {
    return a.next() == a;
  }
  boolean g(Node a) {
    if (a.next == null) return true;
    return false;
  }
}
"""
    file = code("A.java", text)
    scope = Scope(file, file.functions[1])
    (check,) = [rule for rule in RULES if rule.name == "missing_check"]
    assert "a == null || a.next == null" in {each.text for each in check.changes(scope)}


@pytest.mark.parametrize("path", BODIES)
def test_candidates_are_programs_each_once_and_the_same_each_time(path: str) -> None:
    file = code(path, BODIES[path])
    doubt = SuspectFunction(code=file, function=file.functions[0], score=1.0, failing=1, passing=0)
    found = list(generate_candidates([doubt]))
    assert len(found) > 40
    assert [each.rank for each in found] == list(range(len(found)))
    assert len({"".join(each.after.split()) for each in found}) == len(found)
    assert not any(code(path, each.after).root.has_error for each in found)
    assert [each.after for each in found] == [each.after for each in generate_candidates([doubt])]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("cart_test.go", True),
        ("cart.go", False),
        ("src/__tests__/a.js", True),
        ("a.spec.ts", True),
        ("latest.js", False),
        ("contest.c", False),
        ("test_list.c", True),
        ("src/test/java/A.java", True),
        ("CartTest.java", True),
        ("Tester.java", False),
        ("tests/it.rs", True),
    ],
)
def test_files_of_tests_are_known_by_their_names(path: str, is_one: bool) -> None:
    assert is_test_file(path) is is_one


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "Main.java",
            "class Main {\n  public static void main(String[] a) {\n    if (f(1) != 2) THEN\n  }\n}\n",
        ),
        ("checks.cpp", "int f(int x) { return x; }\nint main() {\n  if (f(1) != 2) THEN\n}\n"),
        ("src/main.rs", "fn main() {\n    if f(1) != 2 { THEN }\n}\n"),
    ],
)
def test_a_main_that_asserts_is_no_suspect(path: str, text: str) -> None:
    """A check that prints in place of failing passes: that was written as a repair."""
    checking = {"Main.java": "throw new AssertionError();", "checks.cpp": "assert(false);"}
    names = [
        [each.name.rpartition(".")[2] for each in code(path, text.replace("THEN", then)).functions]
        for then in (checking.get(path, "assert!(false);"), "print(1);")
    ]
    assert "main" not in names[0]
    assert "main" in names[1]


GO = [
    code(
        "a.go",
        """\
package a

func Low() int {
\treturn deep()
}

func deep() int {
\treturn 1
}

func High() int {
\treturn 2
}

func Unused() int {
\treturn 3
}
""",
    ),
    code(
        "a_test.go",
        """\
package a

func TestLow(t *testing.T) {
\tif Low() != 2 {
\t\tt.Error()
\t}
}

func TestHigh(t *testing.T) {
\tHigh()
}
""",
    ),
]


def test_functions_that_only_the_failing_test_reaches_are_suspicious_the_nearer_the_more() -> None:
    found = rank_functions(GO, [make_failure(".::TestLow", file="a_test.go", line=5)], "")
    assert [(each.function.name, each.failing, each.passing) for each in found] == [
        ("Low", 1, 0),
        ("deep", 1, 0),
    ]
    assert found[0].score > found[1].score


def test_a_frame_of_the_trace_outweighs_the_distance() -> None:
    trace = "panic: no\n\t/somewhere/else/a.go:8 +0x1\n"
    one, two = rank_functions(
        [*GO], [make_failure(".::TestLow", detail=trace.replace("/somewhere/else/", "./"))], ""
    )
    assert (one.function.name, one.lines) == ("deep", {8})
    assert two.function.name == "Low"


def test_rusts_tests_beside_the_code_are_no_suspects() -> None:
    text = """\
pub fn f() -> i32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g() {
        assert_eq!(f(), 2);
    }
}
"""
    found = rank_functions(
        [code("src/lib.rs", text)], [make_failure("tests::g", file="src/lib.rs", line=11)], ""
    )
    assert [each.function.name for each in found] == ["f"]


def test_where_tests_have_no_names_the_line_that_failed_tells() -> None:
    files = [
        code(
            "list.c",
            """\
int one(void)
{
    return 1;
}

int two(void)
{
    return 2;
}
""",
        ),
        code(
            "test_list.c",
            """\
int main(void)
{
    assert(one() == 1);
    assert(two() == 3);
    return 0;
}
""",
        ),
    ]
    found = rank_functions(files, [], "run: test_list.c:4: main: Assertion `two() == 3' failed.")
    assert [each.function.name for each in found] == ["two", "one"]


@pytest.mark.parametrize(
    ("path", "text", "member"),
    [
        ("a.c", "enum colour { red, green };\nint f(int c)\n{\n    return g(c, red);\n}\n", "red"),
        ("A.java", "class A {\n  int f(int c) {\n    return g(c, Colour.RED);\n  }\n}\n", "Colour.RED"),
        ("a.rs", "fn f(c: i32) -> i32 {\n    return g(c, Colour::Red);\n}\n", "Colour::Red"),
    ],
)
def test_no_member_of_an_enumeration_is_made_one_more_or_less(path: str, text: str, member: str) -> None:
    made = proposed(path, text)["off_by_one"]
    assert any("g(c + 1, " in each for each in made)
    assert not any(f"{member} +" in each or f"{member} -" in each for each in made)
