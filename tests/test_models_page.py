"""docs/models.md: its commands run, its settings are settings, its figures are those of the corpus."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.layers import load_settings
from tests.agent.model.text_calls.corpus import CASES
from tests.support.cli import CHECKOUT, run
from tests.support.loopback import Loopback

PAGE = (CHECKOUT / "docs/models.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_command_of_the_page_runs(ledger: Path) -> None:
    session = ""
    with Loopback() as server:
        env = {
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": server.url.removesuffix("/v1"),
        }
        for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                words = shlex.split(line.partition(" #")[0])[1:]
                if "--api-base" in words:
                    words[words.index("--api-base") + 1] = server.url
                elif any(word.startswith(("ollama/", "openrouter/")) for word in words):
                    words += ["--api-base", server.url]
                words = [session if word == "ID" else word for word in words]
                if words[0] == "run":
                    words += ["--output", "json"]
                done = run(*words, cwd=ledger, env=env)
                assert done.code == 0, f"{line}: {done.err}"
                # The server says "ok" to everything: the engine mends what it is sure of.
                assert "--lead" not in words or done.events[-1]["summary"].startswith("Fix ledger/")
                if words[0] == "run" and "--lead" not in words:
                    session = done.events[-1]["session"]


def test_the_settings_of_the_page_are_settings() -> None:
    texts = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text("\n".join(texts))
    models = load_settings(home, None, {}, {}).session.models
    assert (models.relay, models.effort, models.catalog["openai/mine"].window) == (False, "medium", 65536)
    assert (models.limits["anthropic"].calls, models.limits["anthropic"].tokens) == (50, 40_000)


def test_the_corpus_is_as_large_as_the_page_says() -> None:
    assert f"corpus of {len(CASES)} texts" in " ".join(PAGE.split())
