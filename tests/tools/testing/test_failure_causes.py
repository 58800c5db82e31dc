"""Failures for which the machine lacks something are told apart from those that a change of the code mends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.repo import Repo
from tools.testing.failure_causes import find_machine_cause


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src/cart.py").write_text("")
    (tmp_path / "package.json").write_text('{"dependencies": {"left-pad": "1"}}')
    return tmp_path


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("E   ModuleNotFoundError: No module named 'yaml'", "py -m pip install pyyaml"),
        ("ModuleNotFoundError: No module named 'google_auth.x'", "py -m pip install google-auth"),
        ("ModuleNotFoundError: No module named 'shop.prices'", ""),
        ("ModuleNotFoundError: No module named 'cart'", ""),
        (
            "ImportError: cannot import name 'Markup' from 'jinja2' (/venv/lib/python3.11/site-packages/jinja2/x.py)",
            "py -m pip install --upgrade jinja2",
        ),
        ("ImportError: cannot import name 'total' from 'cart' (/shop/src/cart.py)", ""),
        ("Error: Cannot find module 'left-pad'\nRequire stack:", "npm install"),
        ("Error: Cannot find module '@scope/x/y'", "npm install --save-dev @scope/x"),
        ("Error: Cannot find module './titles'", ""),
        (
            "cart.go:3:8: no required module provides package github.com/x/y; to add it:",
            "go get github.com/x/y",
        ),
        ("/bin/sh: 1: protoc: not found", "install protoc"),
        ("sh: line 1: protoc: command not found", "install protoc"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'", "install ffmpeg"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/prices.csv'", ""),
        ("Error: spawn convert ENOENT", "install convert"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "run them yourself"),
        ("Error: getaddrinfo ENOTFOUND example.org", "run them yourself"),
        ("AssertionError: assert 3 == 4", ""),
    ],
)
def test_a_message_tells_what_is_missing(message: str, remedy: str, root: Path) -> None:
    cause = find_machine_cause({"failures": [{"id": "t", "message": message}]}, root, "py")
    assert (cause.remedy if cause else "").startswith(remedy)
    assert (cause is None) is (not remedy)


def test_every_failing_test_must_have_such_a_cause(root: Path) -> None:
    missing = {"id": "a", "message": "", "detail": "ModuleNotFoundError: No module named 'yaml'"}
    other = {"id": "c", "message": "ModuleNotFoundError: No module named 'attr'"}
    assert find_machine_cause({"failures": [missing, {"id": "b", "message": "assert 1 == 2"}]}, root) is None
    assert find_machine_cause({"failures": []}, root) is None
    cause = find_machine_cause({"failures": [missing, missing, other]}, root)
    assert cause is not None
    assert cause.remedy == "python3 -m pip install pyyaml; python3 -m pip install attrs"


@pytest.mark.slow
def test_the_engine_does_not_search_where_a_package_is_missing(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("test_cart.py", "import no_such_package_here\n\ndef test_one():\n    assert True\n")
    repo.commit_all()
    done = run("run", "make the tests pass", "--model", "offline", cwd=repo.root)
    assert done.code == 1, done.err
    assert "the package of the module 'no_such_package_here' is not installed" in done.out
    assert "-m pip install no-such-package-here" in done.out
    assert "repair" not in done.err
