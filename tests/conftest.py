"""Every test has a home, a git identity and a data folder of its own, and none of the caller's keys."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples are generated beside other work on a busy machine: slowness there is no finding. PATCHWRIGHT_STRESS
# multiplies how many are drawn where a test leaves that to the profile. Without it the same ones are drawn each time:
# what changes a test's result is a change of the code. New ones are for `make stress`, which prints its seed.
settings.register_profile(
    "patchwright",
    deadline=None,
    derandomize="PATCHWRIGHT_STRESS" not in os.environ,
    max_examples=100 * int(os.environ.get("PATCHWRIGHT_STRESS", "1")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patchwright")

# A script's `make test &` and nohup leave signals ignored, and every program under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for each in (signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
    if signal.getsignal(each) is signal.SIG_IGN:
        signal.signal(each, signal.SIG_DFL)

# What a developer's shell may hold that would change what a test sees: keys and servers of model providers,
# a repository chosen by a git hook that runs the tests, switches of Python and of ripgrep, our settings.
FOREIGN_PREFIXES = ("GIT_", "PATCHWRIGHT_", "PYTHON", "AWS_", "AZURE_", "GOOGLE_", "VERTEX", "LITELLM_")
FOREIGN_SUFFIXES = ("_API_KEY", "_API_BASE", "_BASE_URL", "_API_TOKEN", "_AUTH_TOKEN")
FOREIGN_NAMES = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RIPGREP_CONFIG_PATH",
    "HF_TOKEN",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLORTERM",
)
# These say how the run itself is to be done, and are the same for every test.
OURS = ("PATCHWRIGHT_STRESS", "PATCHWRIGHT_SEED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")

PROBE = "bubblewrap.json"

IDENTITY = """\
[user]
	name = Test Person
	email = person@example.org
[init]
	defaultBranch = main
[commit]
	gpgsign = false
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: the quick ones fill what is left of the workers' time at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def probed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the cache remembers of how commands can be confined here: found out once, not by each test's sessions."""
    from sandbox.backends.selection import choose_sandbox

    cache = tmp_path_factory.mktemp("probed")
    choose_sandbox(cache, cache=cache)
    return b"".join(path.read_bytes() for path in cache.glob(PROBE))


@pytest.fixture(scope="session")
def projects_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Python of projects: this one, whose pytest loads none of this run's plugins.

    To load them takes longer than the rest of a small test run, and projects' tests are run in some thousand of them.
    """
    folder = tmp_path_factory.mktemp("python")
    for name in ("python", "python3"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nPYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec {sys.executable} "$@"\n')
        program.chmod(0o755)
    return folder


# pytest's own numbers cost a look at all folders so far, twice for each test: half a minute in the whole suite.
_NUMBERS: defaultdict[str, Iterator[int]] = defaultdict(count)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's own: an empty folder of the test, named after it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_NUMBERS[name])}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tests' homes."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def isolated(
    homes: Path,
    monkeypatch: pytest.MonkeyPatch,
    probed: bytes,
    projects_python: Path,
) -> Path:
    """An empty home for the test and every process that it starts; returns it."""
    home = homes / f"home{next(_NUMBERS['home'])}"
    home.mkdir(mode=0o700)
    for name in [name for name in os.environ if _foreign(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(home / "patchwright"))
    if probed:
        cache = home / "patchwright" / "cache"
        cache.mkdir(mode=0o700, parents=True)
        (cache / PROBE).write_bytes(probed)
    for variable, folder in _XDG.items():
        monkeypatch.setenv(variable, str(home / folder))
    identity = home / "gitconfig"
    identity.write_text(IDENTITY, "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(identity))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # Projects' tests run by the interpreter that runs these, whatever Pythons, pytests and plugins the machine has.
    path = (str(projects_python), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    return home


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """The demo project, freshly made: five failing tests, four bugs, three files."""
    from cli.commands.setup.demo_repository import create_demo_repository

    return create_demo_repository(tmp_path / "ledger")


_XDG = {
    "XDG_DATA_HOME": ".local/share",
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_STATE_HOME": ".local/state",
}


def _foreign(name: str) -> bool:
    if name in OURS:
        return False
    return name.startswith(FOREIGN_PREFIXES) or name.endswith(FOREIGN_SUFFIXES) or name in FOREIGN_NAMES
