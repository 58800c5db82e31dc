"""Repositories of several packages: which of them a run at the root reached, and which depend on which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.tools.workspaces import workspace
from tools.testing.package_coverage import list_go_modules
from tools.testing.packages import SuiteScope, find_unreached
from tools.testing.project_files import Project

CARGO = {
    "Cargo.toml": '[package]\nname = "root"\n[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/old"]\n',
    "crates/a/Cargo.toml": '[package]\nname = "alpha"\n',
    "crates/b/Cargo.toml": '[package]\nname = "beta"\n[dependencies]\nalpha = { path = "../a" }\n',
    "crates/old/Cargo.toml": '[package]\nname = "old"\n',
}
USING = {"Cargo.toml": CARGO["Cargo.toml"] + '[dependencies]\nbeta = { path = "crates/b" }\n'}
CHOSEN = {"Cargo.toml": CARGO["Cargo.toml"] + 'default-members = ["crates/b"]\n'}
NPM = {
    "package.json": '{"name": "root", "workspaces": ["packages/*"], "scripts": {"test": "node --test packages/a"}}',
    "packages/a/package.json": '{"name": "@x/a"}',
    "packages/a/a.test.js": "",
    "packages/b/package.json": '{"name": "@x/b", "dependencies": {"@x/c": "workspace:*"}}',
    "packages/c/package.json": '{"name": "@x/c"}',
}
EVERY = {"package.json": NPM["package.json"].replace("node --test packages/a", "npm test --workspaces")}
GO = {
    "go.mod": "module x.org/r\n",
    "go.work": "use (\n\t.\n\t./b // more\n)\n",
    "b/go.mod": "module x.org/b\n",
    "c/go.mod": "module x.org/c\n",
}
PYTHON = {
    "pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
    "packages/a/pyproject.toml": '[project]\nname = "a-lib"\n',
    "packages/b/pyproject.toml": '[project]\nname = "b-lib"\ndependencies = ["a-lib>=1"]\n',
}
MAVEN = {
    "pom.xml": "<project><modules><module>core</module></modules></project>",
    "core/pom.xml": "<project><artifactId>core</artifactId><modules><module>deep</module></modules></project>",
    "core/deep/pom.xml": "<project><artifactId>deep</artifactId></project>",
    "tool/pom.xml": "<project><artifactId>tool</artifactId></project>",
    "child/pom.xml": (
        "<project><parent>\n <artifactId>core</artifactId></parent><artifactId>child</artifactId></project>"
    ),
}
GRADLE = {
    "settings.gradle": "rootProject.name = 'r'\ninclude ':app', ':libs:core'\n",
    "build.gradle": "\n",
    "libs/core/build.gradle": "\n",
    "extra/build.gradle": "\n",
}

PARENT = "<parent><artifactId>r</artifactId></parent>"
PLACED = {
    "pom.xml": "<project><artifactId>r</artifactId><modules><module>core</module><module>app</module>"
    "<module>tool</module><module>bare</module></modules><dependencyManagement><dependencies><dependency>"
    "<artifactId>tool</artifactId></dependency></dependencies></dependencyManagement></project>",
    "core/pom.xml": f"<project>{PARENT}<artifactId>core</artifactId></project>",
    "app/pom.xml": f"<project>{PARENT}<artifactId>app</artifactId><dependencies><dependency>"
    "<artifactId>core</artifactId>"
    "</dependency></dependencies></project>",
    "app/src/test/java/x/AppTest.java": "",
    "tool/pom.xml": f"<project>{PARENT}<artifactId>tool</artifactId></project>",
    "tool/src/test/java/x/ToolTest.java": "",
    "bare/pom.xml": f"<project>{PARENT}<artifactId>bare</artifactId></project>",
}
"""Modules of which some have tests: app depends on core, which has none; bare has none and no user."""
PROJECTS = {
    "settings.gradle.kts": 'include("app", "lib")\ninclude(":deep:my-util")\ninclude("tool")\n',
    "build.gradle.kts": 'subprojects { apply(plugin = "java") }\n',
    "app/build.gradle.kts": 'dependencies {\n  implementation(project(":lib"))\n  api(projects.deep.myUtil)\n}\n',
    "app/src/test/java/x/AppTest.java": "",
    "tool/src/test/java/x/ToolTest.java": "",
}
"""Only app has a build file of its own."""
WORK = {
    "go.work": "use ./b\nuse ./c\nuse ./d\n",
    "b/go.mod": "module x.org/b\n",
    "c/go.mod": "module x.org/c\nrequire x.org/b v0.0.0\n",
    "d/go.mod": "module x.org/d\n",
    "go.mod": "module x.org/r\nrequire x.org/d v0.0.0\n",
}
LOOSE = {
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    "tests/test_users.py": "from services import users\n",
    "services/users.py": "",
    "services/unused.py": "",
    "services/bill/calc.py": "",
    "services/bill/tests/test_calc.py": "from services.bill.calc import add\n\n\ndef test_add():\n    assert add\n",
    "web/app.js": "",
}
"""Folders without a manifest of their own."""


@pytest.mark.parametrize(
    ("files", "changed", "runner", "command", "names", "missed"),
    [
        (CARGO, ["crates/a/src/lib.rs"], "cargo", "cargo test", ["t::g"], ["crates/a"]),
        (CARGO, ["crates/a/src/lib.rs"], "cargo", "cargo test --workspace", ["t::g"], []),
        (CARGO, ["crates/old/src/lib.rs"], "cargo", "cargo test --workspace", ["t::g"], ["crates/old"]),
        (CARGO, ["src/lib.rs", "crates/a/README.md"], "cargo", "cargo test", ["t::g"], []),
        ({**CARGO, **USING}, ["crates/a/src/lib.rs"], "cargo", "cargo test", ["t::g"], []),
        ({**CARGO, **CHOSEN}, ["crates/a/src/lib.rs"], "cargo", "cargo test", ["t::g"], []),
        ({**CARGO, **CHOSEN}, ["crates/old/src/x.rs"], "cargo", "cargo test", ["t::g"], ["crates/old"]),
        (CARGO, ["crates/a/src/lib.rs"], "make test", "make test", [], []),
        (CARGO, ["crates/a/src/lib.rs"], "pytest", "pytest", ["test_x.py::t"], ["crates/a"]),
        (NPM, ["packages/a/a.js"], "pytest", "pytest", ["test_x.py::t"], ["packages/a"]),
        (NPM, ["packages/a/a.js"], "unittest", "python -m unittest", [], ["packages/a"]),
        (NPM, ["packages/a/a.js"], "pytest + node", "pytest; npm test", ["test_x.py::t", "adds"], []),
        (NPM, ["packages/a/a.js"], "tox", "tox", [], []),
        (GO, ["b/b.go"], "cargo", "cargo test", ["t::g"], ["b"]),
        (PYTHON, ["packages/b/src/b.py"], "unittest", "python -m unittest", [], []),
        (PYTHON, ["packages/b/src/b.py"], "node", "npm test", ["adds"], ["packages/b"]),
        (
            {**PYTHON, "Makefile": "test:\n\tpytest -q packages/a\n"},
            ["packages/b/src/b.py"],
            "make test",
            "make test",
            [],
            ["packages/b"],
        ),
        (
            {**PYTHON, "Makefile": "test:\n\tpytest -q packages/a\n"},
            ["packages/a/src/a.py"],
            "make test",
            "make test",
            [],
            [],
        ),
        (
            {**PYTHON, "Makefile": "test:\n\tpytest -q packages/a\n\t$(MAKE) -C packages/b\n"},
            ["packages/b/src/b.py"],
            "make test",
            "make test",
            [],
            [],
        ),
        (
            {**PYTHON, "Makefile": "test:\n\tpytest -q\n"},
            ["packages/b/src/b.py"],
            "make test",
            "make test",
            [],
            [],
        ),
        (NPM, ["packages/a/a.js"], "node", "npm test", ["adds"], []),
        (NPM, ["packages/b/b.js"], "node", "npm test", ["adds"], ["packages/b"]),
        ({**NPM, **EVERY}, ["packages/b/b.ts"], "npm", "npm test", [], []),
        (NPM, ["packages/c/c.ts"], "jest", "npm test", ["packages/b/b.test.ts › it"], []),
        (NPM, ["packages/c/c.ts"], "jest", "npm test", ["packages/a/a.test.ts › it"], ["packages/c"]),
        (GO, ["b/b.go"], "go", "go test ./... ./b/...", [".::TestR", "b::TestB"], []),
        (GO, ["c/c.go"], "go", "go test ./... ./b/...", [".::TestR", "b::TestB"], ["c"]),
        (PYTHON, ["packages/a/src/a.py"], "pytest", "pytest", ["packages/b/tests/test_b.py::t"], []),
        (
            PYTHON,
            ["packages/b/src/b.py"],
            "pytest",
            "pytest",
            ["packages/a/tests/test_a.py::t"],
            ["packages/b"],
        ),
        (MAVEN, ["core/deep/src/main/java/A.java"], "maven", "mvn test", ["x.ATest#a"], []),
        (MAVEN, ["tool/src/main/java/A.java"], "maven", "mvn test", ["x.ATest#a"], ["tool"]),
        (MAVEN, ["child/src/main/java/A.java"], "maven", "mvn test", ["x.ATest#a"], ["child"]),
        (PLACED, ["core/src/main/java/x/A.java"], "maven", "mvn test", ["x.AppTest#a"], []),
        (PLACED, ["tool/src/main/java/x/T.java"], "maven", "mvn test", ["x.AppTest#a"], ["tool"]),
        (
            PLACED,
            ["tool/src/main/java/x/T.java"],
            "maven",
            "mvn test",
            ["x.ToolTest$Inner#a", "x.AppTest#a"],
            [],
        ),
        (
            PLACED,
            ["bare/src/main/java/x/B.java"],
            "maven",
            "mvn test",
            ["x.AppTest#a", "x.ToolTest#a"],
            ["bare"],
        ),
        (PROJECTS, ["lib/src/main/java/x/L.java"], "gradle", "gradle test", ["x.AppTest#a"], []),
        (PROJECTS, ["deep/my-util/src/main/java/x/U.java"], "gradle", "gradle test", ["x.AppTest#a"], []),
        (PROJECTS, ["tool/src/main/java/x/T.java"], "gradle", "gradle test", ["x.AppTest#a"], ["tool"]),
        (PROJECTS, ["app/src/main/java/x/P.java"], "gradle", "gradle test", ["x.ToolTest#a"], ["app"]),
        (WORK, ["b/b.go"], "go", "go test ./b/... ./c/...", ["c::TestC"], []),
        (WORK, ["b/b.go"], "go", "go test ./b/... ./d/...", ["d::TestD"], ["b"]),
        (WORK, ["d/d.go"], "go", "go test ./...", ["b::TestB"], ["d"]),
        (WORK, ["d/d.go"], "go", "go test ./...", [".::TestR", "b::TestB"], []),
        (LOOSE, ["services/bill/calc.py"], "pytest", "pytest", ["tests/test_users.py::t"], ["services/bill"]),
        (LOOSE, ["services/bill/calc.py"], "pytest", "pytest", ["services/bill/tests/test_calc.py::t"], []),
        (LOOSE, ["services/users.py"], "pytest", "pytest", ["tests/test_users.py::t"], []),
        (LOOSE, ["services/unused.py"], "pytest", "pytest", ["tests/test_users.py::t"], []),
        (
            LOOSE,
            ["services/bill/tests/test_calc.py"],
            "pytest",
            "pytest",
            ["tests/test_users.py::t"],
            ["services/bill/tests"],
        ),
        (
            {**LOOSE, "services/bill/tests/test_calc.py": "X = 1\n"},
            ["services/bill/tests/test_calc.py"],
            "pytest",
            "pytest",
            ["tests/test_users.py::t"],
            [],
        ),
        (LOOSE, ["web/app.js", "web/app.css"], "pytest", "pytest", ["tests/test_users.py::t"], ["web"]),
        (LOOSE, ["release.js"], "pytest", "pytest", ["tests/test_users.py::t"], ["release.js"]),
        (LOOSE, ["web/app.js"], "pytest + node", "pytest; npm test", ["tests/test_users.py::t", "adds"], []),
        (LOOSE, ["web/app.js"], "make test", "make test", [], []),
        (GRADLE, ["libs/core/src/A.kt"], "gradle", "gradle test", ["x.ATest#a"], []),
        (GRADLE, ["extra/src/A.kt"], "gradle", "gradle test", ["x.ATest#a"], ["extra"]),
    ],
)
def test_packages_without_a_run_test_are_named(
    tmp_path: Path,
    files: Mapping[str, str],
    changed: Sequence[str],
    runner: str,
    command: str,
    names: Sequence[str],
    missed: Sequence[str],
) -> None:
    project = Project(workspace(tmp_path, files))
    scope = SuiteScope(runner=runner, command=command, names=names)
    assert find_unreached(project, changed, scope)[1] == missed


def test_modules_of_a_go_workspace_are_listed(tmp_path: Path) -> None:
    assert list_go_modules(Project(workspace(tmp_path, GO))) == [".", "b"]
    assert (
        list_go_modules(Project(workspace(tmp_path, {"go.work": "use ./only\n"}))) == [".", "b", "only"][2:]
    )
