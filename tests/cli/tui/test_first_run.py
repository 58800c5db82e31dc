"""The first conversation with nothing set up: what there is is offered, nothing is stored unasked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.agent.model.servers.test_server_probe import LLAMACPP, LMSTUDIO, OLLAMA_DEFAULT, VLLM
from tests.support import cli
from tests.support.golden import compare
from tests.support.loopback import Loopback
from tests.support.talking import ask, at_rest, leave, logs
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

OFFER = "Nothing is set up yet. Which model?"


class OneModel(BaseHTTPRequestHandler):
    """A server that lists one model."""

    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": "tiny:1b"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OneModel)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def start(root: Path, columns: int = 80, rows: int = 40, **env: str) -> Terminal:
    return Terminal(cli.PATCHWRIGHT, cwd=root, env=cli.environment(env), columns=columns, rows=rows)


def settings() -> str:
    path = Home.from_environment().config / "settings.toml"
    return path.read_text() if path.exists() else ""


def test_a_key_a_server_or_none_is_chosen_and_stored_only_if_asked(shop: Path, server: str) -> None:
    env = {"OLLAMA_HOST": server, "ANTHROPIC_API_KEY": "sk-ant-never-shown"}
    with start(shop, CI="", **env) as terminal:
        terminal.wait(OFFER)
        terminal.wait("1  anthropic/claude-sonnet-5")
        terminal.wait("key in ANTHROPIC_API_KEY")
        terminal.wait("2  ollama/tiny:1b")
        terminal.wait("3  offline")
        assert "sk-ant" not in terminal.everything
        terminal.type("2\r")
        terminal.wait("ollama/tiny:1b it is.")
        at_rest(terminal)
        assert settings() == ""
        terminal.type("n\r")
        terminal.wait("not stored")
        at_rest(terminal)
        leave(terminal)
    assert settings() == ""
    [log] = logs()
    assert '"kind":"prompt"' not in log.read_text()
    log.unlink()
    with start(shop, CI="", **env) as terminal:
        terminal.wait("3  offline")
        terminal.type("3\r")
        terminal.wait("offline it is.")
        terminal.type("y\r")
        terminal.wait("stored in")
        at_rest(terminal)
        leave(terminal)
    assert settings() == 'model = "offline"\n'
    for log in logs():
        log.unlink()
    with start(shop, CI="", **env) as terminal:  # it is remembered
        at_rest(terminal)
        leave(terminal)
    assert OFFER not in terminal.everything


TWINS = {
    "ollama": (OLLAMA_DEFAULT, "OLLAMA_HOST"),
    "lmstudio": (LMSTUDIO, "LM_STUDIO_API_BASE"),
    "vllm": (VLLM, "VLLM_API_BASE"),
    "llamacpp": (LLAMACPP, "LLAMACPP_API_BASE"),
}
"""Servers like the common ones, and the variables of their addresses."""


def test_from_a_local_server_of_each_kind_to_a_first_answer(shop: Path) -> None:
    with ExitStack() as stack:
        env = {}
        for provider, (pages, variable) in TWINS.items():
            answer = [{"text": f"I am {provider}.", "repeat": 9}]
            env[variable] = stack.enter_context(Loopback(answer, pages=pages)).url
        terminal = stack.enter_context(start(shop, CI="", **env))
        terminal.wait("5  offline")
        for number, provider in enumerate(TWINS, 1):
            assert re.search(rf"{number}  {provider}/tiny +server on port", terminal.everything)
        terminal.type("1\r")
        terminal.wait("ollama/tiny it is.")
        at_rest(terminal)
        ask(terminal, "who are you?", "I am ollama.")
        for provider in [*TWINS][1:]:
            ask(terminal, f"/model {provider}/tiny", f"{provider}/tiny")
            ask(terminal, "who are you?", f"I am {provider}.")
        leave(terminal)
    assert settings() == ""


@pytest.mark.parametrize(("columns", "rows"), [(50, 20), (80, 24), (160, 50)])
def test_the_offer_looks_as_it_did(columns: int, rows: int, shop: Path, server: str) -> None:
    env = {"OLLAMA_HOST": server, "ANTHROPIC_API_KEY": "sk-ant-never-shown"}
    with start(shop, columns, rows, CI="", **env) as terminal:
        terminal.wait("/model lists")
        terminal.wait("! tests: ")
        at_rest(terminal)
        text = terminal.everything
        shown = text[text.index("Nothing is set up") : text.index("\n! tests")]
        compare(
            re.sub(r"port \d+|^\s+\d{4,5}$", "port (number)", shown, flags=re.M), f"first-{columns}x{rows}"
        )
        leave(terminal)


def test_what_is_typed_at_once_is_a_prompt(shop: Path) -> None:
    with start(shop, CI="") as terminal:
        terminal.wait("opening …")
        terminal.type("1 line too many?\r")
        terminal.wait("needs a model")
        at_rest(terminal)
        leave(terminal)
    [log] = logs()
    assert '"text":"1 line too many?"' in log.read_text()
    assert settings() == ""


@pytest.mark.parametrize(
    ("arguments", "env"),
    [((), {"CI": "true"}), (("--model", "offline"), {}), ((), {"PATCHWRIGHT_MODEL": "offline"})],
)
def test_it_is_not_offered_where_something_is_set_or_nobody_could_answer(
    arguments: tuple[str, ...], env: Mapping[str, str], shop: Path
) -> None:
    argv = [*cli.PATCHWRIGHT, *arguments]
    with Terminal(argv, cwd=shop, env=cli.environment({"CI": "", **env})) as terminal:
        at_rest(terminal)
        leave(terminal)
    assert OFFER not in terminal.everything


def test_lines_for_a_screen_reader_offer_it_too(shop: Path) -> None:
    with Terminal([*cli.PATCHWRIGHT, "--plain"], cwd=shop, env=cli.environment({"CI": ""})) as terminal:
        terminal.wait("1  offline")
        terminal.type("1\r")
        terminal.wait("offline it is.")
        terminal.type("n\r")
        terminal.wait("not stored")
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0
    assert "\x1b[" not in terminal.everything
    assert settings() == ""


def test_what_is_missing_is_told_in_a_line_each(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    cli.git(root, "init", "-q")
    (root / "notes.txt").write_text("nothing to test\n")
    with start(root, columns=160, CI="") as terminal:
        terminal.wait("1  offline")
        terminal.wait("To use a model: export ANTHROPIC_API_KEY=…")
        terminal.wait("! tests: ")
        at_rest(terminal)
        leave(terminal)
