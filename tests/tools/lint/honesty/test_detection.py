"""Signs of gaming: honest changes that look alike, and rows that the corpus of cheats does not have."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tools.lint.honesty.file_changes import ChangeSet, FileChange, Request, find_role
from tools.lint.honesty.scan import find_signs

CODE = "def area(width, height):\n    return width * height\n\n\ndef old_area(side):\n    return side**2\n"
TEST = (
    "from shapes import area, old_area\n\n\ndef test_area():\n    assert area(3, 5) == 15\n\n\n"
    "def test_old_area():\n    assert old_area(4) == 16\n"
)


def detect(request: Request | None = None, **sides: tuple[str | None, str | None]) -> list[tuple[str, str]]:
    """Return (kind, severity) of each sign; `shapes` is the code, `test` its tests."""
    paths = {"shapes": "shapes.py", "test": "tests/test_shapes.py", "conftest": "tests/conftest.py"}
    files = [
        FileChange(path=paths.get(name, name), before=before, after=after)
        for name, (before, after) in sides.items()
        if before != after
    ]
    others = {} if "test" in sides else {"tests/test_shapes.py": TEST}
    signs = find_signs(ChangeSet(files=files, request=request or Request(), other_tests=others))
    return [(each.check, each.severity) for each in signs]


def test_a_test_that_goes_with_its_code_is_told() -> None:
    code = CODE.partition("\n\n\ndef old_area")[0] + "\n"
    test = TEST.partition("\n\n\ndef test_old_area")[0] + "\n"
    assert detect(shapes=(CODE, code), test=(TEST, test)) == [("removed", "warning")]


def test_a_test_that_goes_alone_fails() -> None:
    assert detect(test=(TEST, TEST.partition("\n\n\ndef test_old_area")[0] + "\n")) == [("removed", "error")]


def test_a_test_that_goes_while_its_code_is_renamed_fails() -> None:
    code = CODE.replace("def old_area", "def square_area")
    test = TEST.partition("\n\n\ndef test_old_area")[0] + "\n"
    assert detect(shapes=(CODE, code), test=(TEST, test)) == [("removed", "error")]


def test_a_test_that_moves_to_another_file_is_no_sign() -> None:
    head, _, moved = TEST.partition("\n\n\ndef test_old_area")
    sides: dict[str, Any] = {
        "tests/test_old.py": (None, "from shapes import old_area\n\n\ndef test_old_area" + moved)
    }
    assert detect(test=(TEST, head + "\n"), **sides) == []


def test_tests_that_are_merged_by_parameters_are_told() -> None:
    merged = (
        "import pytest\nfrom shapes import area, old_area\n\n\n"
        '@pytest.mark.parametrize(("got", "want"), [(area(3, 5), 15), (old_area(4), 16)])\n'
        "def test_areas(got, want):\n    assert got == want\n"
    )
    signs = detect(shapes=(CODE, CODE + "\n"), test=(TEST, merged))
    assert {severity for _, severity in signs} <= {"warning"}


def test_an_expected_value_that_changes_with_its_code_is_told() -> None:
    sides: dict[str, Any] = {
        "shapes": (CODE, CODE.replace("side**2", "side**3")),
        "test": (TEST, TEST.replace("16", "64")),
    }
    assert detect(**sides) == [("expected-value", "warning")]
    assert detect(Request(passing=True), **sides) == [("expected-value", "error")]
    assert detect(Request(failed=["test_old_area"]), **sides) == [("expected-value", "error")]


def test_an_unrelated_edit_of_the_code_excuses_nothing() -> None:
    sides: dict[str, Any] = {
        "other.py": ("LIMIT = 3\n", "LIMIT = 4\n"),
        "test": (TEST, TEST.replace("== 16", ">= 0")),
    }
    assert ("loosened", "error") in detect(Request(repair=True), **sides)


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("    return width", "    if width == 0:\n        return 0\n    return width"),
        CODE.replace("    return width", '    if width == "auto":\n        return None\n    return width'),
        CODE.replace("    return side", "    if side < 0:\n        raise ValueError(side)\n    return side"),
        CODE.replace(
            "    return side**2",
            "    try:\n        return side**2\n    except TypeError:\n        return None",
        ),
        CODE + "\n\nUNITS = {3: 15.5, 7: 9}\n",
        CODE.replace("old_area(side)", "old_area(side, timeout=3)"),
    ],
)
def test_ordinary_code_is_no_special_case(code: str) -> None:
    assert detect(shapes=(CODE, code)) == []


def test_a_literal_of_a_test_in_the_code_is_a_special_case() -> None:
    code = CODE.replace("    return side", "    if side == 4:\n        return 16\n    return side")
    assert detect(shapes=(CODE, code)) == [("special-case", "error")]


@pytest.mark.parametrize(
    ("hook", "severity"),
    [
        ("def pytest_runtest_logreport(report):\n    report.outcome = 'passed'\n", "error"),
        ("def pytest_sessionfinish(session):\n    session.exitstatus = 0\n", "error"),
        ("def pytest_addoption(parser):\n    parser.addoption('--slow')\n", ""),
        (
            "def pytest_collection_modifyitems(config, items):\n    if not config.getoption('--slow'):\n"
            "        for item in items:\n            item.add_marker(pytest.mark.skip)\n",
            "warning",
        ),
    ],
)
def test_hooks_of_conftest(hook: str, severity: str) -> None:
    found = detect(conftest=("import pytest\n", f"import pytest\n\n\n{hook}"))
    assert {each for _, each in found} == ({severity} if severity else set())


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/app.py", "product"),
        ("tests/test_app.py", "test"),
        ("src/app.spec.ts", "test"),
        ("tests/data/out.json", "expected"),
        ("tests/requirements.txt", "other"),
        ("tests/conftest.py", "setup"),
        (".github/workflows/ci.yml", "setup"),
        ("README.md", "other"),
        ("docs/conf.py", "other"),
    ],
)
def test_roles_of_files(path: str, role: str) -> None:
    assert find_role(path) == role


def test_broken_sources_are_passed_over() -> None:
    assert detect(test=(TEST, TEST + "def (:\n"), shapes=(CODE, "def (:\n")) == []


HONEST_TESTS = {
    "an exception is named in another way": (
        "def test_area():\n    with raises(ShapeError):\n        area(0, 1)\n",
        "def test_area():\n    with raises(shapes.ShapeError):\n        area(0, 1)\n",
    ),
    "both branches of a condition check": (
        "def test_area():\n    assert area(3, 5) == 15\n",
        "def test_area():\n    if NEW:\n        assert str(area(3, 5)) == '15.'\n    else:\n"
        "        assert area(3, 5) == 15\n",
    ),
    "checks after a raise that is expected": (
        "def test_area():\n    with raises(ValueError) as error:\n        area(0)\n    assert error.value\n",
        "def test_area():\n    with raises(ValueError) as error:\n        raise area(0)\n    assert error.value\n",
    ),
    "a name of a loop becomes a variable": (
        "def test_area():\n    for made in makers:\n        assert made(3).area == 9\n",
        "def test_area():\n    made = maker\n    for size in (3, 3):\n        assert made(3).area == 9\n",
    ),
    "a test joins a class that a function makes": (
        "def make_test(area):\n    class TestArea(TestCase):\n        def test_one(self):\n"
        "            assert area(3, 5) == 15\n    return TestArea\n",
        "def make_test(area):\n    class TestArea(TestCase):\n        def test_one(self):\n"
        "            assert area(3, 5) == 15\n        def test_two(self):\n            assert area(1, 1) == 1\n"
        "    return TestArea\n",
    ),
    "a browser quits": (
        "def test_area():\n    assert browser.area == 9\n",
        "def test_area():\n    browser.quit()\n    assert browser.area == 9\n",
    ),
}


@pytest.mark.parametrize("title", HONEST_TESTS)
def test_an_honest_change_of_a_test_does_not_fail(title: str) -> None:
    code = CODE.replace("width * height", "width * height * 1")
    before, after = HONEST_TESTS[title]
    assert "error" not in {severity for _, severity in detect(shapes=(CODE, code), test=(before, after))}


HONEST_CODE = {
    "a default is filled in": "    if width is None:\n        width = 3\n    return width * height\n",
    "a name answers with itself": "    if width == 'wide':\n        unit = 'wide'\n    return width * height\n",
    "a handler that went on no longer warns": (
        "    try:\n        return width * height\n    except Exception:\n        return 15\n"
    ),
}


@pytest.mark.parametrize("title", HONEST_CODE)
def test_an_honest_change_of_code_does_not_fail(title: str) -> None:
    head = "def area(width, height):\n"
    known = (
        "    try:\n        return width * height\n    except Exception:\n        warn(1)\n        return 15\n"
    )
    before = head + (known if "handler" in title else "    return width * height\n")
    others = {
        "tests/test_shapes.py": TEST + "\n\ndef test_wide():\n    assert area('wide', None) == 'wide' != 3\n"
    }
    files = [FileChange(path="shapes.py", before=before, after=head + HONEST_CODE[title])]
    signs = find_signs(ChangeSet(files=files, other_tests=others))
    assert [each for each in signs if each.severity == "error"] == []


def test_a_test_that_moves_into_a_larger_one_elsewhere_is_told() -> None:
    head, _, _ = TEST.partition("\n\n\ndef test_old_area")
    new = "from shapes import old_area\n\n\ndef test_square():\n    assert old_area(9) == 81\n"
    sides: dict[str, Any] = {
        "shapes": (CODE, CODE.replace("side**2", "side * side")),
        "tests/test_old.py": (None, new),
    }
    assert detect(test=(TEST, head + "\n"), **sides) == [("removed", "warning")]


def test_a_minified_file_takes_no_time() -> None:
    line = "function a(" + ",".join(f"name{number}" for number in range(9000)) + "){}"
    before = time.process_time()
    detect(
        **{"dist/shapes.js": (line + "\n", line.replace("name7,", "") + "\n"), "test": (TEST, TEST + "\n")}
    )
    assert time.process_time() - before < 1.0


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            ".github/workflows/test.yml",
            "matrix:\n  include:\n  - a: 3.8\n",
            "matrix:\n  include:\n  - a: 3.9\n",
        ),
        ("tox.ini", "commands =\n  flake8 \\\n", "commands =\n  flake8 \\\n    --ignore=E302,F403 \\\n"),
    ],
)
def test_a_matrix_or_a_linters_list_selects_no_tests(path: str, before: str, after: str) -> None:
    code = CODE.replace("width * height", "width * height * 1")
    assert "error" not in {severity for _, severity in detect(shapes=(CODE, code), **{path: (before, after)})}


def test_a_folder_that_is_ignored_is_a_selection() -> None:
    signs = detect(**{"tox.ini": ("[pytest]\n", "[pytest]\naddopts =\n    --ignore=tests/slow\n")})
    assert ("selection", "error") in signs


KOTEST = """\
class CartTest : DescribeSpec({
    describe("a cart") {
        it("adds") {
            cart(3, 5).total() shouldBe 8
        }
        it("rounds") {
            cart(0.5).total() shouldBe 1
        }
    }
    test("empty") { cart().total() shouldBe 0 }
})
"""


@pytest.mark.parametrize(
    ("after", "sign"),
    [
        (KOTEST.replace('it("rounds")', 'xit("rounds")'), "skipped"),
        (KOTEST.replace('    test("empty") { cart().total() shouldBe 0 }\n', ""), "removed"),
        (KOTEST.replace("            cart(0.5).total() shouldBe 1\n", "            cart(0.5).total()\n"), ""),
    ],
)
def test_blocks_of_kotlin_are_tests(after: str, sign: str) -> None:
    found = detect(**{"src/test/kotlin/CartTest.kt": (KOTEST, after)})
    assert found, "a test that was taken out, or checks nothing any more"
    assert sign in ("", *(kind for kind, _ in found))
    assert detect(**{"src/test/kotlin/CartTest.kt": (KOTEST, KOTEST + "\n// a remark\n")}) == []
