"""Mistakes of a first day: each is answered by one line of what is wrong and one of what to do, with its exit code."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from agent.app_dirs import Home
from agent.exit_codes import Exit
from tests.support.cli import CHECKOUT, git, run

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A command line, where and how it is given, and what its help has to say.

    place: "shop" (a repository with a commit), "empty" (one without) or "plain" (no repository)
    helps: texts of the last line, which says what to do
    notes: lines before, such as that of a retry
    """

    words: tuple[str, ...]
    code: Exit
    helps: tuple[str, ...]
    place: str = "shop"
    settings: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    notes: int = 0


USAGE, SETTINGS = Exit.USAGE, Exit.CONFIGURATION

MISTAKES = {
    "wrong option": Mistake(
        words=("run", "--modle", "x", "fix it"), code=USAGE, helps=("--mode or --model",)
    ),
    "option of another program": Mistake(words=("--fix",), code=USAGE, helps=("patchwright --help",)),
    "misspelt command": Mistake(words=("comit",), code=USAGE, helps=("Did you mean 'commit'?",)),
    "help as a command": Mistake(words=("help",), code=USAGE, helps=("patchwright --help",)),
    "task as a command": Mistake(
        words=("fix the tests",), code=USAGE, helps=("patchwright run 'fix the tests'",)
    ),
    "verb as a command": Mistake(words=("fix",), code=USAGE, helps=("patchwright run ",)),
    "quotes forgotten": Mistake(
        words=("run", "fix", "the", "tests"), code=USAGE, helps=("Quote the prompt", "'fix the tests'")
    ),
    "unclosed quote": Mistake(
        words=("run", "fix it", "--tests", "pytest 'x"), code=USAGE, helps=("--tests",)
    ),
    "no prompt": Mistake(words=("run",), code=USAGE, helps=("patchwright run ",)),
    "empty prompt": Mistake(words=("run", " "), code=USAGE, helps=("patchwright run ",)),
    "not a terminal": Mistake(words=(), code=USAGE, helps=("patchwright run ",)),
    "huge input": Mistake(
        words=("run", "why does it fail?"), code=USAGE, helps=("a file",), stdin="log line\n" * 500_000
    ),
    "prompt like a command": Mistake(
        words=("run", "git status", "--model", "offline"), code=SETTINGS, helps=("name a model",)
    ),
    "no repository": Mistake(
        words=("run", "fix it"), code=Exit.NOT_A_REPOSITORY, helps=("git init",), place="plain"
    ),
    "hook outside a repository": Mistake(
        words=("hook", "install"), code=Exit.NOT_A_REPOSITORY, helps=("git init",), place="plain"
    ),
    "hook of another name": Mistake(
        words=("hook", "install", "pre-comit"), code=USAGE, helps=("pre-commit",)
    ),
    "nothing staged": Mistake(words=("commit",), code=Exit.NOTHING_TO_DO, helps=("git add",), place="empty"),
    "undo of nothing": Mistake(words=("undo",), code=Exit.NOTHING_TO_DO, helps=("nothing to take back",)),
    "resume of nothing": Mistake(words=("resume",), code=USAGE, helps=("patchwright run ",), place="empty"),
    "unknown session": Mistake(words=("resume", "nope"), code=USAGE, helps=("patchwright sessions",)),
    "no such folder": Mistake(words=("run", "fix it", "-C", "nowhere"), code=USAGE, helps=("-C",)),
    "file as a folder": Mistake(words=("run", "fix it", "-C", "a.py"), code=USAGE, helps=("-C",)),
    "no such patch": Mistake(words=("apply", "none.patch"), code=USAGE, helps=("path of a file",)),
    "no such commit": Mistake(words=("review", "nosuch"), code=USAGE, helps=("Name a commit",)),
    "wrong mode": Mistake(
        words=("run", "fix it", "--mode", "readonly"), code=USAGE, helps=("patchwright run --help",)
    ),
    "no key": Mistake(
        words=("run", "fix it", "--model", "openai/gpt-5.5"),
        code=Exit.CREDENTIALS,
        helps=("export OPENAI_API_KEY",),
    ),
    "wrong key": Mistake(
        words=("run", "fix it", "--model", "openai/x", "--api-base", "SERVER/401"),
        code=Exit.CREDENTIALS,
        helps=("OPENAI_API_KEY",),
        env={"OPENAI_API_KEY": "sk-wrong"},
        notes=1,
    ),
    "misspelt model": Mistake(
        words=("run", "fix it", "--model", "openai/gtp", "--api-base", "SERVER/404"),
        code=SETTINGS,
        helps=("model",),
        notes=1,
    ),
    "model without a provider": Mistake(
        words=("run", "fix it", "--model", "mymodel"), code=SETTINGS, helps=("openai/NAME",)
    ),
    "misspelt provider": Mistake(
        words=("run", "fix it", "--model", "antropic/claude-sonnet-5"),
        code=SETTINGS,
        helps=("Did you mean anthropic/claude-sonnet-5?",),
    ),
    "server not started": Mistake(
        words=("run", "fix it", "--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1"),
        code=Exit.MODEL_UNREACHABLE,
        helps=("Check that the server runs",),
        notes=1,
    ),
    "unreadable settings": Mistake(
        words=("run", "fix it"), code=SETTINGS, helps=("Close the quote in line 1",), settings='model = "x\n'
    ),
    "wrong settings key": Mistake(
        words=("run", "fix it"), code=SETTINGS, helps=("Did you mean 'model'?",), settings='modell = "x"\n'
    ),
    "wrong settings value": Mistake(
        words=("run", "fix it"),
        code=SETTINGS,
        helps=("'dark', 'light'",),
        settings='[terminal]\ntheme = "pink"\n',
    ),
    "wrong footer": Mistake(
        words=("run", "fix it"),
        code=SETTINGS,
        helps=("There are: {model}, {mode},",),
        settings='[terminal]\nfooter = "{modle}"\n',
    ),
    "wrong key to set": Mistake(
        words=("config", "set", "modell", "x"), code=SETTINGS, helps=("Did you mean 'model'?",)
    ),
    "value forgotten": Mistake(words=("config", "set", "model"), code=USAGE, helps=("config set --help",)),
    "folder that cannot be written": Mistake(
        words=("run", "fix it", "--model", "offline"),
        code=Exit.READ_ONLY,
        helps=("Set PATCHWRIGHT_HOME",),
        env={"PATCHWRIGHT_HOME": "/proc/none"},
    ),
}


class Refusing(BaseHTTPRequestHandler):
    """A server that refuses with the status that the address names."""

    def do_POST(self) -> None:
        status = int(self.path.split("/")[1])
        body = b'{"error": {"message": "The model `gtp` does not exist or the key is wrong."}}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@pytest.fixture(scope="module")
def server() -> str:
    """The address of the server, which ends with this process."""
    made = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=made.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{made.server_address[1]}"


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], Path]:
    def make(kind: str) -> Path:
        root = tmp_path / kind
        root.mkdir()
        if kind != "plain":
            git(root, "init", "-q")
        if kind == "shop":
            (root / "a.py").write_text("x = 1\n")
            git(root, "add", ".")
            git(root, "commit", "-qm", "Start")
        return root

    return make


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_by_one_line_that_says_what_to_do(
    name: str, place: Callable[[str], Path], server: str
) -> None:
    mistake = MISTAKES[name]
    if mistake.settings:
        config = Home.from_environment().config
        config.mkdir(parents=True)
        (config / "settings.toml").write_text(mistake.settings)
    words = [each.replace("SERVER", server) for each in mistake.words]
    result = run(*words, cwd=place(mistake.place), env=mistake.env, stdin=mistake.stdin)
    assert result.code == mistake.code, result.err
    assert result.out == ""
    assert_one_help(result.err, mistake)


def assert_one_help(error: str, mistake: Mistake) -> None:
    """One message and at most one line below it; the last of them says what to do."""
    assert "Traceback" not in error
    assert "sk-wrong" not in error
    lines = error.splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("patchwright: ")]
    assert len(begins) == 1, error
    begin = begins[0]
    assert begin <= mistake.notes, error
    told = [lines[begin], *(line for line in lines[begin + 1 :] if line.startswith("  "))]
    rest = [line for line in lines[begin + 1 :] if not line.startswith("  ")]
    assert len(told) <= 2, error
    assert not rest or (len(rest) == 1 and rest[0].startswith("✗ failed: ")), error  # the turn's last line
    for text in mistake.helps:
        assert text in told[-1], error


@pytest.mark.parametrize("group", ["session", "debug"])
def test_a_group_without_its_command_shows_its_help(group: str, tmp_path: Path) -> None:
    result = run(group, cwd=tmp_path)
    assert result.code == USAGE
    assert result.err.startswith(f"Usage: patchwright {group} ")
    assert "Commands:" in result.err
    assert len(result.err.splitlines()) > 5


def test_a_group_lists_what_it_is_about_without_its_command(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for group, code, told in (
        ("hook", 0, "pre-commit "),
        ("functions", Exit.NOTHING_TO_DO, "no functions are kept"),
    ):
        listed = run(group, cwd=tmp_path)
        assert (listed.code, told in listed.out) == (code, True)
    assert run("hook", cwd=tmp_path).out == run("hook", "status", cwd=tmp_path).out


def test_there_are_many_mistakes_and_their_codes_tell_them_apart() -> None:
    assert len(MISTAKES) >= 25
    assert len({each.code for each in MISTAKES.values()}) >= 7


def _find_old_python() -> str:
    """The program of a Python that is too old, "" if there is none on this machine."""
    folders = [
        Path("/usr/bin"),
        *(Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pyenv/versions").glob("3.[7-9]*/bin"),
    ]
    found = (folder / f"python3.{minor}" for folder in folders for minor in range(7, 11))
    return next((str(each) for each in found if each.is_file()), "")


@pytest.mark.parametrize("real", [False, True])
def test_an_old_python_is_told_rather_than_a_syntax_error(real: bool, tmp_path: Path) -> None:
    """A real one where there is one, and this one that claims to be old."""
    python = _find_old_python() if real else sys.executable
    if not python:
        pytest.skip("no old Python here")
    claims = "" if real else "sys.version_info = (3, 9, 1, 'final', 0);"
    code = f"import sys; {claims} from patchwright.launcher import main; sys.exit(main())"
    done = subprocess.run(
        [python, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6, done.stderr
    assert "needs Python 3.11" in done.stderr
    assert len(done.stderr.splitlines()) == 2
