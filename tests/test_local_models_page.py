"""docs/local-models.md: its commands run, from a model's file to a mended bug; it and docs/offline.md stay short."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from agent.model.gguf.memory_plan import WINDOWS
from agent.model.gguf.own_server import IDLE
from sandbox.helpers.helper_confinement import find_confinement
from tests.support.cli import CHECKOUT, run
from tests.support.gguf_files import own_servers, write_gguf
from tests.support.repo import Repo

PAGE = (CHECKOUT / "docs/local-models.md").read_text("utf-8")

CODE = "def slug(text):\n    words = text.split()\n    return words\n"
TESTS = """\
from titles import slug


def test_slug():
    assert slug("A Fine Day") == "a-fine-day"
    assert slug("x") == "x"
"""
MENDED = 'return "-".join(words).lower()'


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not find_confinement(), reason="the kernel has no Landlock")
def test_three_commands_lead_to_a_mended_bug(tmp_path: Path) -> None:
    """The first two are given: a stand-in for the server, and a file that knows the line that is missing."""
    repo = Repo(tmp_path / "shop")
    repo.write("titles.py", CODE)
    repo.write("test_titles.py", TESTS)
    repo.commit_all()
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    install, fetch, *ours = [shlex.split(line.partition("  #")[0]) for line in lines]
    assert install == ["brew", "install", "llama.cpp"]
    assert fetch[:4] == ["curl", "-L", "--create-dirs", "-o"]
    (tmp_path / "models").mkdir()
    file = write_gguf(tmp_path / fetch[4].removeprefix("~/"))
    file.with_suffix(".fills.json").write_text(json.dumps({"": MENDED}))
    with own_servers(tmp_path / "home") as env:
        env |= {"HOME": str(tmp_path)}
        for words in ours:
            assert words[0] == "patchwright"
            words = [each.replace("~/", f"{tmp_path}/") if words[1] == "model" else each for each in words]
            done = run(*words[1:], cwd=repo.root, env=env)
            assert done.code == 0, f"{words}: {done.err}"
            if words[1] == "run":
                assert MENDED in repo.read("titles.py")
                assert repo.git("log", "--format=%s", "-1").strip() == "Fix titles.py"
            if words[1] == "doctor":
                assert "fills   gaps in code (/infill)" in done.out


def test_its_figures_are_those_of_the_code() -> None:
    text = " ".join(PAGE.split())
    large, middle, small = (f"{each:,}" for each in WINDOWS)
    assert f"the largest of {large}, {middle} and {small} tokens" in text
    assert IDLE == 600
    assert "unused, it ends after ten minutes" in text


def test_pages_for_newcomers_are_short() -> None:
    """A page has as many lines as one screen of a browser, or three of them, show."""
    assert len(PAGE.splitlines()) <= 66
    offline = (CHECKOUT / "docs/offline.md").read_text("utf-8")
    assert len(offline.splitlines()) <= 130
