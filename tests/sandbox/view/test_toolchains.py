"""Honest work in a sandbox that hides the home folder: small real projects, each with its own toolchain."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.sandbox.boxes import CONFINED, make, sh

pytestmark = pytest.mark.slow


@pytest.fixture
def own_home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the account, where toolchains of this machine may be installed."""
    folder = Path(pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def needs(*programs: str) -> None:
    missing = [each for each in programs if not shutil.which(each)]
    if missing:
        pytest.skip(f"not installed here: {', '.join(missing)}")


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


CRATES = {
    "app/Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n'
    '[dependencies]\ntwo = { path = "../two" }\nvendored = "1"\n',
    "app/.cargo/config.toml": '[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "vendor"\n',
    "app/src/lib.rs": "#[test]\nfn adds() { assert_eq!(two::two() + vendored::one(), 3); }\n",
    "app/vendor/vendored/Cargo.toml": '[package]\nname = "vendored"\nversion = "1.0.0"\nedition = "2021"\n',
    "app/vendor/vendored/.cargo-checksum.json": '{"files": {}}',
    "app/vendor/vendored/src/lib.rs": "pub fn one() -> i32 { 1 }\n",
    "two/Cargo.toml": '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n',
    "two/src/lib.rs": "pub fn two() -> i32 { 2 }\n",
}


@pytest.mark.parametrize("name", CONFINED)
def test_cargo_builds_a_crate_with_a_path_and_a_vendored_dependency(
    name: str, workspace: Path, own_home: Path
) -> None:
    needs("cargo")
    write(workspace, CRATES)
    done = sh(make(name, workspace), workspace, "cd app && cargo test --offline 2>&1", timeout=300)
    assert "1 passed" in done.stdout.text(), done.stdout.text()


@pytest.mark.parametrize("name", CONFINED)
def test_npm_runs_the_tests_of_a_package(name: str, workspace: Path, own_home: Path) -> None:
    needs("npm")
    write(
        workspace,
        {
            "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node check.js"}}',
            "check.js": 'require("assert").equal(require("./src/two"), 2); console.log("passed")',
            "src/two.js": "module.exports = 2",
        },
    )
    done = sh(make(name, workspace), workspace, "npm test 2>&1", timeout=120)
    assert "passed" in done.stdout.text(), done.stdout.text()


PARENT = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>base</artifactId>"
    "<version>1</version><packaging>pom</packaging></project>"
)
CHILD = (
    "<project><modelVersion>4.0.0</modelVersion><parent><groupId>org.example</groupId><artifactId>base</artifactId>"
    "<version>1</version><relativePath/></parent><artifactId>child</artifactId><packaging>pom</packaging></project>"
)


@pytest.mark.parametrize("name", CONFINED)
def test_maven_finds_a_parent_in_the_local_repository(name: str, workspace: Path, home: Path) -> None:
    needs("mvn")
    write(home, {".m2/repository/org/example/base/1/base-1.pom": PARENT})
    write(workspace, {"pom.xml": CHILD})
    env = {"MAVEN_OPTS": f"-Duser.home={home}"}  # Java takes the account's home folder, whatever HOME says
    done = sh(
        make(name, workspace), workspace, "mvn -o -q -B validate 2>&1 && echo valid", env=env, timeout=120
    )
    assert done.stdout.text().strip().endswith("valid"), done.stdout.text()


def build_wheel(folder: Path) -> Path:
    """Return a wheel with one module, made by hand: no build tool is needed."""
    path = folder / "small-1.0-py3-none-any.whl"
    meta = {
        "METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "small.py,,\nsmall-1.0.dist-info/METADATA,,\nsmall-1.0.dist-info/WHEEL,,\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("small.py", "two = 2\n")
        for name, content in meta.items():
            wheel.writestr(f"small-1.0.dist-info/{name}", content)
    return path


@pytest.fixture(scope="module")
def environment_with_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment, made once: pip is installed into it, which takes some seconds."""
    place = tmp_path_factory.mktemp("environment") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    return place


@pytest.mark.parametrize("name", CONFINED)
def test_pip_installs_a_wheel_into_the_projects_environment(
    name: str, workspace: Path, home: Path, environment_with_pip: Path
) -> None:
    build_wheel(workspace / "src")
    (home / ".cache/pip").mkdir(parents=True)
    shutil.copytree(environment_with_pip, workspace / ".venv", symlinks=True)
    pip = workspace / ".venv/bin/pip"
    pip.write_text(pip.read_text().replace(str(environment_with_pip), str(workspace / ".venv")))
    script = ".venv/bin/pip install -q --no-index src/small-1.0-py3-none-any.whl && .venv/bin/python -c"
    done = sh(make(name, workspace), workspace, f"{script} 'import small; print(small.two)'", timeout=120)
    assert done.stdout.text().strip().endswith("2"), done.stdout.text()


@pytest.mark.parametrize("name", CONFINED)
def test_pytest_runs_by_the_python_of_pyenv(name: str, workspace: Path, own_home: Path) -> None:
    needs("pyenv")
    shim = own_home / ".pyenv/shims/python3"
    if not shim.exists() or subprocess.run([shim, "-c", "import pytest"], check=False).returncode:
        pytest.skip("pyenv has no Python with pytest")
    write(workspace, {"test_two.py": "def test_two():\n    assert 1 + 1 == 2\n"})
    done = sh(
        make(name, workspace), workspace, "python3 -m pytest -q -p no:cacheprovider test_two.py", timeout=120
    )
    assert "1 passed" in done.stdout.text(), done.stdout.text()


@pytest.mark.parametrize("name", CONFINED)
def test_an_environment_of_uv_finds_its_python(name: str, workspace: Path, home: Path) -> None:
    """uv keeps interpreters below .local/share/uv, and the `python` of an environment leads there by links."""
    version = home / ".local/share/uv/python/cpython-3-linux"
    version.parent.mkdir(parents=True)
    version.symlink_to(sys.base_prefix)
    python = version / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    (workspace / ".venv/bin").mkdir(parents=True)
    (workspace / ".venv/pyvenv.cfg").write_text(f"home = {python.parent}\nuv = 0.8\n")
    (workspace / ".venv/bin/python").symlink_to(python)
    ask = ".venv/bin/python -c 'import json, sys; print(sys.prefix)'"
    assert sh(make(name, workspace), workspace, ask).stdout.text().strip() == f"{workspace}/.venv"


@pytest.mark.parametrize("name", CONFINED)
def test_a_node_of_nvm_and_its_global_packages_run(
    name: str, workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("node")
    version = home / ".nvm/versions/node/v1.2.3"
    tool = version / "lib/node_modules/tool/cli.js"
    write(home, {".nvm/nvm.sh": "export NVM_SEEN=1\n"})
    write(tool.parent, {"cli.js": "#!/usr/bin/env node\nconsole.log('tool runs')\n"})
    tool.chmod(0o755)
    (version / "bin").mkdir()
    (version / "bin/node").symlink_to(str(shutil.which("node")))
    (version / "bin/tool").symlink_to("../lib/node_modules/tool/cli.js")
    monkeypatch.setenv("NVM_DIR", str(home / ".nvm"))
    monkeypatch.setenv("PATH", f"{version}/bin{os.pathsep}{os.environ['PATH']}")
    done = sh(make(name, workspace), workspace, '. "$NVM_DIR/nvm.sh"; echo $NVM_SEEN; tool; command -v node')
    assert done.stdout.text().split("\n")[:3] == ["1", "tool runs", f"{version}/bin/node"]


@pytest.mark.parametrize("name", CONFINED)
def test_go_builds_with_its_caches(name: str, workspace: Path, own_home: Path) -> None:
    needs("go")
    write(
        workspace,
        {
            "go.mod": "module example.org/x\n\ngo 1.20\n",
            "x_test.go": 'package x\nimport "testing"\nfunc TestTwo(t *testing.T) { if 1+1 != 2 { t.Fatal() } }\n',
        },
    )
    done = sh(make(name, workspace), workspace, "go test ./... 2>&1", timeout=300)
    assert done.returncode == 0, done.stdout.text()


@pytest.mark.parametrize("name", CONFINED)
def test_a_program_on_the_path_brings_the_installation_that_its_link_leads_to(
    name: str, workspace: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~/bin/tool` is a link to `/elsewhere/tool-1/bin/tool`, which reads a file of its own installation."""
    tool = tmp_path / "elsewhere/tool-1"
    write(
        tool,
        {
            "lib/word": "found\n",
            "bin/tool": '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/word"\n',
        },
    )
    (tool / "bin/tool").chmod(0o755)
    (tmp_path / "elsewhere/beside").write_text("private")
    (home / "bin").mkdir()
    (home / "bin/tool").symlink_to(tool / "bin/tool")
    monkeypatch.setenv("PATH", f"{home}/bin{os.pathsep}{os.environ['PATH']}")
    done = sh(make(name, workspace), workspace, f"tool; cat {tmp_path}/elsewhere/beside; ls {home}")
    assert done.stdout.text().startswith("found\n"), done.stdout.text()
    assert "private" not in done.stdout.text()
