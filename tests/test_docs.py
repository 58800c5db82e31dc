"""The documents say only what works: their commands are run, their tables compared with the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from agent.home import Home
from agent.outcome import MEANING, Exit
from cli.settings import load
from tests.support.cli import CHECKOUT, Result, run
from tests.support.loopback import Loopback

README = CHECKOUT / "README.md"

NOT_RUN_HERE = {"make demo", "make test", "pipx install .", "export OPENAI_API_KEY=…", "patchwright"}
"""Run by others: the first by CI and the packaging tests, the last one by the terminal's tests."""

ENDS = {"doctor": {0}, "sessions": {0}, "resume": {2}, "init": {0}}
"""Exit codes of the examples that ask no model, in a fresh project."""


def commands(document: Path) -> list[str]:
    """Each command line of the document's shell blocks, without its comment."""
    blocks = re.findall(r"^```sh\n(.*?)^```", document.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"\s+# .*", "", line) for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and line not in NOT_RUN_HERE]


@pytest.mark.slow
@pytest.mark.parametrize("line", commands(README))
def test_every_command_of_the_readme_runs(line: str, ledger: Path) -> None:
    piped, _, rest = line.rpartition(" | ")
    words = shlex.split(rest)
    assert words[0] == "patchwright", line
    with Loopback() as server:
        result = _run(words[1:], server.url, ledger, stdin="some diff" if piped else "")
    asks_a_model = words[1] == "run" and ("--model" in words or piped)
    expected = {0} if asks_a_model or words[1] == "run" else ENDS[words[1]]
    assert result.code in expected, f"{line}: {result.code}\n{result.err}"


def _run(words: list[str], server: str, folder: Path, stdin: str) -> Result:
    """As written, but with the loopback server in place of the real ones."""
    env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server}
    if "--api-base" in words:
        words[words.index("--api-base") + 1] = server
    elif "--model" in words and words[words.index("--model") + 1].startswith("ollama/"):
        words += ["--api-base", server]
    if words[0] == "run" and "--model" not in words and not stdin:
        env = {}  # the offline engine's examples
        if "tests pass" not in words[1]:
            env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server}
    return run(*words, cwd=folder, env=env, stdin=stdin)


def test_the_readme_lists_every_exit_code_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", README.read_text("utf-8"), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == {int(code): MEANING[code] for code in Exit}


def test_the_readmes_settings_are_settings() -> None:
    text = re.findall(r"^```toml\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)[0]
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(text)
    settings = load(home, None, {}, {})
    assert (settings.model, settings.tests.command) == ("openai/gpt-5.1", "python -m pytest -q")


@pytest.mark.parametrize("document", ["README.md", *map(str, sorted(Path(CHECKOUT / "docs").rglob("*.md")))])
def test_links_between_documents_lead_somewhere(document: str) -> None:
    path = CHECKOUT / document
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text("utf-8")):
        assert (path.parent / target).exists(), f"{document} points to {target}"
