"""`patchwright model`: a model's file is listed, served and ended; a session with it starts the server by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from sandbox.helpers.helper_confinement import find_confinement
from tests.support.cli import git, run
from tests.support.gguf_files import own_servers, write_gguf

pytestmark = [
    pytest.mark.skipif(not find_confinement(), reason="the kernel has no Landlock"),
    pytest.mark.slow,
]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    with own_servers(tmp_path / "home") as variables:
        yield {**variables, "HOME": str(tmp_path)}


def test_a_file_is_listed_served_and_ended(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "models").mkdir()
    file = write_gguf(tmp_path / "models/toy.gguf")
    write_gguf(tmp_path / "models/big-00002-of-00002.gguf")
    listed = run("model", "list", cwd=tmp_path, env=env)
    assert listed.out.splitlines()[0] == f"gguf:{file}"
    assert "big" not in listed.out
    served = run("model", "serve", file, "--window", "4096", "--json", cwd=tmp_path, env=env)
    assert served.code == Exit.DONE, served.err
    told = json.loads(served.out)
    assert told["window"] == 4096
    again = run("model", "serve", file, cwd=tmp_path, env=env)
    assert f"toy answers at {told['base']} (window 4,096 tokens)" in again.out
    assert told["key"] not in again.out
    files = json.loads(run("model", "list", "--json", cwd=tmp_path, env=env).out)["files"]
    assert [each["name"] for each in files if each["server"]] == [f"gguf:{file}"]
    larger = json.loads(run("model", "serve", file, "--window", "8192", "--json", cwd=tmp_path, env=env).out)
    assert larger["window"] == 8192
    assert run("model", "stop", file, cwd=tmp_path, env=env).out == "ended toy.gguf\n"
    assert run("model", "stop", cwd=tmp_path, env=env).out == "none runs\n"
    gone = run("model", "stop", file, cwd=tmp_path, env=env)
    assert (gone.code, "no server runs for" in gone.err) == (Exit.USAGE, True)


def test_a_session_starts_the_server(tmp_path: Path, env: dict[str, str]) -> None:
    file = write_gguf(tmp_path / "toy.gguf")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    done = run("run", "say hello", "--model", f"gguf:{file}", cwd=project, env=env)
    assert done.code == Exit.DONE, done.err
    assert done.out.strip().startswith("ready")
    assert "starting llama-server for toy.gguf" in done.err
    page = run("doctor", "--model", f"gguf:{file}", cwd=project, env=env).out
    assert "window  16,384 tokens (/props)" in page
    assert "speed   119 tokens a second in, 11 out (measured): a reply of 300 tokens takes some 27 s" in page
    assert "price   $0 input" in page


def test_mistakes_are_told_in_a_line(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    for name, words in (("none.gguf", "cannot be read"), ("text.gguf", "is not a GGUF file")):
        done = run("run", "hello", "--no-commit", "--model", f"gguf:{name}", cwd=tmp_path, env=env)
        assert done.code == Exit.CONFIGURATION
        assert words in done.err.splitlines()[0]
        assert len(done.err.splitlines()) == 2
