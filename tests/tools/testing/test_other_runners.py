"""`run_tests` with other languages' own tools, where they are installed, and with make."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.tools.testing.projects import Make, counts, project, run
from tests.tools.workspaces import put, refused
from tools.core.action import ToolFailure
from tools.testing import run_tests
from tools.testing.runners import choose_launch

__all__ = ["project"]

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
needs_cargo = pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")

NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "test/cart.test.js": """\
        const test = require('node:test');
        const assert = require('assert');
        test('adds', () => { assert.strictEqual(1 + 1, 2); });
        test('subtracts', () => {
          assert.strictEqual(2 - 1, 2);
        });
        test.skip('later', () => {});
        """,
}


@pytest.mark.slow
@needs_npm
def test_node_tests_are_counted_and_placed(project: Make) -> None:
    _, report = run(project(NODE))
    assert (report.runner, report.command, report.outcome) == ("node", "npm test", "failed")
    assert counts(report) == (1, 1, 0, 1)
    assert [(each.id, each.file, each.line) for each in report.failures] == [
        ("test/cart.test.js › subtracts", "test/cart.test.js", 5)
    ]
    assert "Expected values to be strictly equal" in report.failures[0].message


@pytest.mark.slow
@needs_npm
def test_a_node_file_that_cannot_be_loaded_is_broken_and_says_why(project: Make) -> None:
    observation, report = run(project({**NODE, "test/b.test.js": "const = 1;\n"}))
    assert (report.outcome, report.note) == ("broken", "1 could not be loaded: test/b.test.js")
    assert "SyntaxError" in observation.text


@pytest.mark.slow
@needs_npm
def test_a_script_of_which_nothing_is_known_is_not_told_as_passed(project: Make) -> None:
    files = {"package.json": '{"scripts": {"test": "node check.js"}}', "check.js": "process.exit(0)"}
    observation, report = run(project(files))
    assert (report.outcome, report.counted, report.collected) == ("unverified", False, 0)
    assert "nothing counted" in observation.text
    _, trusted = run(project(files, command="npm test"))
    assert (trusted.outcome, trusted.counted) == ("passed", False)


@pytest.mark.slow
@needs_npm
@pytest.mark.parametrize(
    ("script", "framework", "report", "expected"),
    [
        (
            "jest",
            "jest",
            {
                "numTotalTests": 3,
                "numPassedTests": 1,
                "numFailedTests": 1,
                "numPendingTests": 1,
                "testResults": [
                    {
                        "name": "ROOT/a.test.js",
                        "status": "failed",
                        "assertionResults": [
                            {
                                "status": "failed",
                                "fullName": "cart adds",
                                "failureMessages": ["Error: expected 1\\n    at f (ROOT/cart.js:7:3)"],
                            }
                        ],
                    }
                ],
            },
            ("a.test.js › cart adds", "cart.js", 7),
        ),
        (
            "mocha",
            "mocha",
            {
                "stats": {"passes": 1, "failures": 1, "pending": 1},
                "failures": [
                    {
                        "fullTitle": "cart adds",
                        "file": "ROOT/a.test.js",
                        "err": {"message": "expected 1", "stack": "Error: x\\n    at f (ROOT/cart.js:7:3)"},
                    }
                ],
            },
            ("a.test.js › cart adds", "cart.js", 7),
        ),
    ],
)
def test_frameworks_are_asked_for_a_report(
    project: Make, script: str, framework: str, report: object, expected: tuple[str, str, int]
) -> None:
    """A stand-in program takes the framework's place and writes what the real one writes."""
    program = """\
        #!/usr/bin/env node
        const argument = process.argv.find(word => /output(File)?=/.test(word));
        const file = argument.slice(argument.indexOf('=') + 1);
        require('fs').writeFileSync(file, require('fs').readFileSync('recorded.json'));
        process.exit(1);
        """
    at = project(
        {"package.json": json.dumps({"scripts": {"test": script}}), f"node_modules/.bin/{framework}": program}
    )
    (at.root / f"node_modules/.bin/{framework}").chmod(0o755)
    put(at.root, {"recorded.json": json.dumps(report).replace("ROOT", str(at.root)).replace("\\\\n", "\\n")})
    _, result = run(at)
    assert (result.runner, counts(result)) == (framework, (1, 1, 0, 1))
    assert [(each.id, each.file, each.line) for each in result.failures] == [expected]


@pytest.mark.slow
@needs_npm
def test_a_run_that_could_not_start_says_what_mends_it(project: Make) -> None:
    package = '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "30"}}'
    observation, report = run(project({"package.json": package}))
    assert (report.outcome, report.counted) == ("broken", False)
    assert "packages of package.json are not installed" in report.note
    assert "npm install" in observation.text


CRATE = {
    "Cargo.toml": '[package]\nname = "cart"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """\
        pub fn add(a: i32, b: i32) -> i32 {
            a - b
        }

        #[cfg(test)]
        mod tests {
            use super::*;
            #[test]
            fn adds() {
                assert_eq!(add(1, 2), 3, "the sum");
            }
            #[test]
            fn zero() {
                assert_eq!(add(1, 0), 1);
            }
            #[test]
            #[ignore]
            fn later() {}
        }
        """,
}


@needs_cargo
@pytest.mark.slow
def test_cargo_tests_are_counted_and_placed(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    at = project(CRATE)
    _toolchain(monkeypatch)
    _, report = run(at)
    assert (report.runner, report.outcome, counts(report)) == ("cargo", "failed", (1, 1, 0, 1))
    assert [(each.id, each.file, each.line) for each in report.failures] == [
        ("tests::adds", "src/lib.rs", 10)
    ]
    assert "the sum" in report.failures[0].message
    assert not (at.root / "target").exists()
    assert counts(run(at, "tests::zero")[1]) == (1, 0, 0, 0)
    put(at.root, {"src/lib.rs": "pub fn add( {\n"})
    observation, broken = run(at)
    assert (broken.outcome, broken.note) == ("broken", "it does not compile")
    assert "src/lib.rs:1" in observation.text


def _toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """rustup keeps its tool chains in the real home, which tests do not see."""
    cargo = Path(shutil.which("cargo") or "").parent.parent
    monkeypatch.setenv("CARGO_HOME", str(cargo))
    if (cargo.parent / ".rustup").exists():
        monkeypatch.setenv("RUSTUP_HOME", str(cargo.parent / ".rustup"))


@needs_go
@pytest.mark.slow
def test_go_tests_are_counted_and_placed(project: Make) -> None:
    source = 'package cart\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n\tt.Errorf("got %d", 1)\n}\n'
    _, report = run(project({"go.mod": "module example.com/cart\n\ngo 1.18\n", "cart_test.go": source}))
    assert counts(report) == (0, 1, 0, 0)
    assert [(each.id, each.file, each.line) for each in report.failures] == [(".::TestA", "cart_test.go", 6)]


@pytest.mark.parametrize(
    ("wrapper", "build", "folder"),
    [("mvnw", "pom.xml", "target/surefire-reports"), ("gradlew", "build.gradle", "build/test-results/test")],
)
def test_java_reports_of_this_run_are_read(project: Make, wrapper: str, build: str, folder: str) -> None:
    """A stand-in wrapper writes what the real tool writes; an old report lies there already."""
    script = f"""\
        #!/bin/sh
        mkdir -p {folder}
        cat > {folder}/TEST-shop.CartTest.xml <<'END'
        <testsuite name="shop.CartTest">
          <testcase name="adds" classname="shop.CartTest" time="0.1"/>
          <testcase name="total" classname="shop.CartTest">
            <failure message="expected: 3 but was: 2">trace</failure>
          </testcase>
          <testcase name="later" classname="shop.CartTest"><skipped/></testcase>
        </testsuite>
        END
        echo "$@" > arguments
        exit 1
        """
    old = '<testsuite><testcase name="old" classname="shop.Old"><failure message="x"/></testcase></testsuite>'
    at = project({wrapper: script, build: "", f"{folder}/TEST-shop.Old.xml": old})
    (at.root / wrapper).chmod(0o755)
    os.utime(at.root / folder / "TEST-shop.Old.xml", (1, 1))
    _, report = run(at, "src/test/java/shop/CartTest.java")
    assert (report.outcome, counts(report)) == ("failed", (1, 1, 0, 1))
    assert [(each.id, each.message) for each in report.failures] == [
        ("shop.CartTest#total", "expected: 3 but was: 2")
    ]
    assert "shop.CartTest" in (at.root / "arguments").read_text()


def test_make_test_is_understood_by_its_output(project: Make) -> None:
    makefile = (
        "test:\n\t@printf 'TAP version 13\\n1..3\\nok 1 - a\\nnot ok 2 - b\\nok 3 - c # SKIP\\n'; exit 1\n"
    )
    _, report = run(project({"Makefile": makefile}))
    assert (report.runner, report.outcome, counts(report)) == ("make test", "failed", (1, 1, 0, 1))
    assert [each.id for each in report.failures] == ["b"]


def test_make_runs_no_single_tests_and_says_so(project: Make) -> None:
    at = project({"Makefile": "test:\n\t@echo ok\n"})
    assert "call run_tests without targets" in refused(run_tests, at, targets=["cart"])


def test_a_named_make_target_is_not_taken_for_pytest(project: Make) -> None:
    at = project({"Makefile": "pytest:\n\t@printf '1..1\\nok 1 - a\\n'\n"}, command="make pytest")
    assert counts(run(at)[1]) == (1, 0, 0, 0)


def test_make_without_recognisable_results_speaks_by_its_exit_status(project: Make) -> None:
    at = project({"Makefile": "test:\n\t@echo checking; exit 1\n"})
    observation, report = run(at)
    assert (report.outcome, report.counted) == ("failed", False)
    assert "checking" in observation.text


def test_make_that_runs_nothing_is_no_pass_and_says_why(project: Make) -> None:
    files = {"Makefile": "test:\n\t@printf '1..1\\nok 1 - a\\n'\n", "test/data.txt": "x\n"}
    observation, report = run(project(files))
    assert (report.outcome, observation.failed) == ("no-tests", True)
    assert "'test' is up to date" in observation.text
    assert "`.PHONY: test`" in observation.text
    files["Makefile"] = f".PHONY: test\n{files['Makefile']}"
    assert counts(run(project(files))[1]) == (1, 0, 0, 0)


def test_without_a_runner_it_is_said_what_was_looked_for(project: Make) -> None:
    at = project(
        {
            "a.txt": "",
            "package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
        }
    )
    with pytest.raises(ToolFailure) as failure:
        run(at)
    assert str(failure.value) == (
        "tests were not run: no runner found in work/ (looked for pytest, django, unittest, tox, nox, package.json, "
        "bun, deno, go, cargo, maven, gradle, rspec, make test, make check, ctest).\n"
        'Name the command: --tests "python -m pytest" …, or tests.command in patchwright.toml; or run it with shell.'
    )
    assert failure.value.data["report"]["outcome"] == "no-runner"


def test_a_program_that_is_not_installed_is_no_runner(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    at = project({"go.mod": "module x\n"})
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if shutil.which("go"):
        pytest.skip("go is installed system-wide")
    text = refused(run_tests, at)
    assert text.startswith("tests were not run: ")
    assert "go" in text


@pytest.mark.slow
def test_targets_choose_among_several_runners(project: Make) -> None:
    makefile = "test:\n\t@printf '1..1\\nok 1 - made\\n'\n"
    at = project({"Makefile": makefile, "test_a.py": "def test_a(): pass\n", "go.mod": "module x\n"})
    assert run(at, "test_a.py")[1].runner == "pytest"
    if shutil.which("go"):
        assert run(at, "a_test.go")[1].runner == "go"
    else:
        assert "go" in refused(run_tests, at, targets=["a_test.go"])


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("ctest") or not shutil.which("cc"), reason="CMake or a compiler is missing"
)
def test_ctest_is_found_and_builds_outside_the_sources(project: Make) -> None:
    at = project(
        {
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(shop C)\nenable_testing()\n"
            "add_executable(adds adds.c)\nadd_test(NAME adds COMMAND adds)\nadd_test(NAME fails COMMAND adds x)\n",
            "adds.c": "int main(int count, char **words) { return count - 1; }\n",
        }
    )
    _, report = run(at)
    assert (report.runner, report.outcome) == ("ctest", "failed")
    assert (
        report.command
        == "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"
    )
    assert counts(report) == (1, 1, 0, 0)
    assert [each.id for each in report.failures] == ["fails"]
    assert sorted(path.name for path in at.root.iterdir()) == ["CMakeLists.txt", "adds.c"]
    _, report = run(at, "adds")
    assert (report.outcome, counts(report)) == ("passed", (1, 0, 0, 0))


@pytest.mark.parametrize("files", [{".rspec": "", "Gemfile": ""}, {"spec/spec_helper.rb": ""}])
def test_rspec_is_found(files: dict[str, str], project: Make, tmp_path: Path) -> None:
    at = project(files)
    launch = asyncio.run(choose_launch(at, ("spec/cart_spec.rb",), tmp_path))
    start = "bundle exec rspec" if "Gemfile" in files else "rspec"
    assert (launch.runner, launch.command) == ("rspec", f"{start} spec/cart_spec.rb")
