"""`patchwright mcp`: entries in settings files, and the sign-in as a user makes it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from typer.testing import CliRunner, Result

from agent.app_dirs import Home
from cli.app import app
from cli.settings.layers import load_settings
from cli.settings.setting_sources import store_setting
from sandbox.errors import Fault, UserError
from tests.support.cli import CHECKOUT, PATCHWRIGHT, environment, git
from tests.support.cli import run as run_process
from tests.support.oauth_server import OAuthServer, run_oauth_server
from tools.mcp.oauth.sign_in_flow import SignInRequest, sign_in
from tools.mcp.server_settings import McpServerSettings

pytestmark = pytest.mark.slow

SERVER = CHECKOUT / "tests/tools/mcp/server.py"
PYTHON = str(Path(sys.executable).resolve())
"""Not that of an environment which may lie in /tmp, of which a sandbox has its own."""

NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with run_oauth_server() as server:
        yield server


@pytest.fixture
def server(running: OAuthServer) -> OAuthServer:
    running.behave()
    return running


@pytest.fixture(autouse=True)
def no_desktop() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield
    keyring.set_keyring(before)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["mcp", *map(str, words)])


def read_error(result: Result) -> UserError:
    assert isinstance(result.exception, UserError), result.output
    return result.exception


def read_servers(folder: Path) -> dict[str, str | McpServerSettings]:
    return dict(load_settings(Home.from_environment(), folder, {}, {}).session.tools.mcp)


def write_mine(text: str) -> Path:
    path = Home.from_environment().config / "settings.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_servers_are_added_listed_and_removed_and_comments_stay(tmp_path: Path) -> None:
    mine = write_mine('# mine\napproval = "auto"  # always\n\n[mcp]\n# the old one\nold = "old-mcp"\n')
    here = ("-C", tmp_path)
    added = run(
        *("add", "tickets", "--env", "TICKETS_KEY", "--env", "MODE=a b", *here),
        *("--", "tickets-mcp", "--read only", "-v"),
    )
    assert added.stdout == f"tickets is named in {mine}; new sessions use it\n"
    far = run("add", "far", "https://far.example/mcp", *here)
    assert "patchwright mcp login far" in far.stdout
    keyed = run(
        *("add", "keyed", "https://keyed.example/mcp", "--header", "Authorization: Bearer $KEYED", *here)
    )
    assert keyed.stderr == ""
    assert (
        "--header 'X-Api-Key: $KEY'"
        in run(*("add", "known", "https://known.example/mcp", "--header", "X-Api-Key: abc", *here)).stderr
    )
    assert read_servers(tmp_path) == {
        "old": "old-mcp",
        "tickets": "TICKETS_KEY=$TICKETS_KEY MODE='a b' tickets-mcp '--read only' -v",
        "far": "https://far.example/mcp",
        "keyed": McpServerSettings(
            url="https://keyed.example/mcp", headers={"Authorization": "Bearer $KEYED"}
        ),
        "known": McpServerSettings(url="https://known.example/mcp", headers={"X-Api-Key": "abc"}),
    }
    assert mine.read_text().startswith('# mine\napproval = "auto"  # always\n\n[mcp]\n# the old one\n')

    listed = json.loads(run("list", "--output", "json", *here).stdout)
    assert listed[:3] == [
        {
            "name": name,
            "transport": transport,
            "place": place,
            "source": f"'{mine}', line {line}",
            "signed_in": False,
        }
        for name, transport, place, line in (
            ("old", "stdio", "old-mcp", 6),
            ("tickets", "stdio", "TICKETS_KEY=$TICKETS_KEY MODE='a b' tickets-mcp '--read only' -v", 7),
            ("far", "http", "https://far.example/mcp", 8),
        )
    ]
    assert f"far  http  https://far.example/mcp  '{mine}', line 8" in run(*here).stdout
    assert run("remove", "far", *here).exit_code == 0
    assert "far" not in read_servers(tmp_path)
    gone = read_error(run("remove", "far", *here))
    assert "does not set 'mcp.far'" in gone.message
    assert "# the old one" in mine.read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("add", "a b", "x"), "'a b' is no name of a server"),
        (("add", "../x", "x"), "is no name of a server"),
        (("add", "x", "http://far.example/mcp"), "begins with https://"),
        (("add", "x", "https://me:secret@far.example"), "a password is no part of the address"),
        (("add", "x", "https://far.example", "--env", "A=1"), "gets no variables"),
        (("add", "x", "--header", "A: 1", "--", "x-mcp"), "a program has no headers"),
        (("add", "x", "--env", "1A=1", "--", "x-mcp"), "begins with no name of a variable"),
        (("add", "x", "https://far.example", "--header", "nothing"), "is no header"),
        (("add", "x", "https://far.example", "--header", "A B: 1"), "the header 'A B' has characters"),
        (("login", "x"), "no MCP server 'x'"),
        (("login", "old"), "is a program, to which nobody signs in"),
        (("login", "far", "--client-secret", "NOT_SET"), "of the client that --client-id names"),
        (("login", "far", "--client-id", "x", "--client-secret", "NOT_SET"), "no such variable is set"),
    ],
)
def test_a_wrong_word_changes_nothing(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    text = '[mcp]\nold = "old-mcp"\nfar = "https://far.example/mcp"\n'
    mine = write_mine(text)
    error = read_error(run(words[0], "-C", tmp_path, *words[1:]))
    assert reason in error.message
    assert error.fault in (Fault.USAGE, Fault.CONFIGURATION)
    assert mine.read_text() == text


def test_a_projects_servers_count_once_it_is_trusted(tmp_path: Path) -> None:
    here = ("-C", tmp_path)
    git(tmp_path, "init", "-q")
    (tmp_path / "patchwright.toml").write_text('# ours\n[tests]\ncommand = "make test"\n')
    write_mine('[mcp]\nmine = "mine-mcp"\n')
    told = run("add", "shared", "--project", *here, "--", "shared-mcp")
    assert "patchwright trust -C" in told.stdout
    assert (tmp_path / "patchwright.toml").read_text().startswith("# ours\n[tests]\n")
    before = run("list", "--output", "json", *here)
    assert [each["name"] for each in json.loads(before.stdout)] == ["mine"]
    assert "which a project may not set before you trust it" in before.stderr
    assert "before you trust it" in read_error(run("login", "shared", *here)).hint

    assert CliRunner().invoke(app, ["trust", "-C", str(tmp_path)]).exit_code == 0
    after = json.loads(run("list", "--output", "json", *here).stdout)
    assert [(each["name"], "patchwright.toml" in each["source"]) for each in after] == [
        ("mine", False),
        ("shared", True),
    ]
    assert run("remove", "shared", "--project", *here).exit_code == 0
    assert "shared-mcp" not in (tmp_path / "patchwright.toml").read_text()
    (tmp_path / "patchwright.toml").unlink()
    (tmp_path / "patchwright.toml").symlink_to(Home.from_environment().config / "settings.toml")
    assert "is a link" in read_error(run("add", "x", "--project", *here, "--", "x")).message


BROWSER = """#!{python}
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())
"""


def test_a_user_signs_in_by_the_browser_and_out_again(server: OAuthServer, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable))
    browser.chmod(0o755)
    home = Home.from_environment()
    store_setting(home, "mcp.tickets", json.dumps(server.url))
    env = {**NO_KEYRING, "BROWSER": f"{browser} %s"}
    done = run_process("mcp", "login", "tickets", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert done.out.startswith(f"Sign in to tickets at\n  {server.issuer}/authorize?response_type=code&")
    assert "Close this page and return to the terminal." in done.out
    assert done.out.endswith(
        "Signed in to tickets; new sessions use it. To sign out: patchwright mcp logout tickets\n"
    )
    kept = (home.sign_ins / "tickets.json").read_text()
    token = json.loads(kept)["refresh_token"]
    assert token in server.provider.refresh
    assert token not in done.out + done.err
    here = ("-C", tmp_path)
    listed = run("list", "--output", "json", *here)
    assert [each["signed_in"] for each in json.loads(listed.stdout)] == [True]
    assert token not in listed.stdout
    assert "tickets  http  signed in  http" in run("list", *here).stdout
    assert run("logout", "tickets").stdout == "Signed out of tickets\n"
    assert token not in server.provider.refresh
    assert not (home.sign_ins / "tickets.json").exists()
    again = run("logout", "tickets")
    assert (again.exit_code, again.stderr) == (3, "you are not signed in to tickets\n")

    server.behave(metadata={"issuer": "https://evil.example"})
    refused = run("login", "tickets", *here)
    error = read_error(refused)
    assert (error.fault, refused.stdout) == (Fault.CREDENTIALS, "")
    assert error.message.startswith("not signed in to tickets: ")
    store_setting(home, "mcp.nobody", '"http://127.0.0.1:9/mcp"')
    down = read_error(run("login", "nobody", *here))
    assert down.fault == Fault.MODEL_UNREACHABLE
    assert down.message.startswith("not signed in to nobody: 127.0.0.1: ")


def test_a_server_is_tried_as_a_session_starts_it(server: OAuthServer, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER.read_text())
    home, here = Home.from_environment(), ("-C", tmp_path)
    store_setting(home, "mcp.calc", json.dumps(f"{PYTHON} server.py"))
    store_setting(home, "mcp.broken", '"no-such-program --x"')
    store_setting(home, "mcp.tickets", json.dumps(server.url))
    works = run("test", "calc", *here)
    assert works.exit_code == 0, works.exception
    first, second = works.stdout.splitlines()
    assert re.fullmatch(r"calc works: \S+.*, in the sandbox \w+, revision 20\d\d-\d\d-\d\d", first), first
    assert re.fullmatch(r"3 tools, \d resources?, \d prompts?; \d+\.\d\d s", second), second
    assert not list((home.cache / "work").iterdir())

    broken = read_error(run("test", "broken", *here))
    assert broken.fault == Fault.MODEL_UNREACHABLE
    words, _, said = broken.message.partition(" be started: ")
    assert words == "the MCP server 'broken' does not work: the program cannot"
    assert "no-such-program" in said, "the last line of its standard error, which each shell words in its way"

    outside = read_error(run("test", "tickets", *here))
    assert (outside.fault, "run: patchwright mcp login tickets" in outside.message) == (
        Fault.CREDENTIALS,
        True,
    )
    request = SignInRequest(name="tickets", url=server.url, folder=home.sign_ins, open_page=server.browse)
    asyncio.run(sign_in(request))
    inside = json.loads(run("test", "tickets", "--output", "json", *here).stdout)
    assert (inside["server"], inside["tools"], inside["transport"], inside["sandbox"]) == (
        "tickets-server",
        1,
        "http",
        "",
    )
    server.provider.revoke_all()
    revoked = run("test", "tickets", "-o", "json", *here)
    assert revoked.exit_code == 8
    assert "patchwright mcp login tickets" in json.loads(revoked.stdout)["reason"]


def test_ctrl_c_ends_a_sign_in_that_waits(server: OAuthServer, tmp_path: Path) -> None:
    home = Home.from_environment()
    store_setting(home, "mcp.tickets", json.dumps(server.url))
    waiting = subprocess.Popen(
        [*PATCHWRIGHT, "mcp", "login", "tickets", "--no-browser"],
        cwd=tmp_path,
        env=environment(NO_KEYRING),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "Sign in to tickets at\n"
    assert "code_challenge_method=S256" in waiting.stdout.readline()
    waiting.send_signal(signal.SIGINT)
    _, told = waiting.communicate(timeout=30)
    assert (waiting.returncode, told) == (130, "")
    assert not (home.sign_ins / "tickets.json").exists()
