"""Every test has a home, a git identity and a data folder of its own, and none of the caller's keys."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.stress import count_cases

# Examples are generated beside other work on a busy machine: slowness there is no finding. PATCHWRIGHT_STRESS
# multiplies how many are drawn where a test leaves that to the profile. Without it the same ones are drawn each time:
# what changes a test's result is a change of the code. New ones are for `make stress`, which prints its seed.
settings.register_profile(
    "patchwright",
    deadline=None,
    derandomize="PATCHWRIGHT_STRESS" not in os.environ,
    max_examples=count_cases(100),
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
OURS = (
    "PATCHWRIGHT_STRESS",
    "PATCHWRIGHT_SEED",
    "PATCHWRIGHT_RESIDENT",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
)

PROBE = "bubblewrap.json"

# Of a commit's processes and waits, those that no test is about: automatic maintenance, and waiting for the disk.
IDENTITY = """\
[user]
	name = Test Person
	email = person@example.org
[init]
	defaultBranch = main
[commit]
	gpgsign = false
[maintenance]
	auto = false
[core]
	fsync = none
"""


WHOLLY_SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.M)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make check` does not even import a file whose tests are all slow."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return bool(WHOLLY_SLOW.search(collection_path.read_text("utf-8"))) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, by their slow tests' limits of time: quick ones fill what is left at the end."""
    weights: defaultdict[Path, float] = defaultdict(float)
    for item in items:
        if item.get_closest_marker("slow"):
            limit = item.get_closest_marker("timeout")
            weights[item.path] += limit.args[0] if limit and limit.args else 180
    items.sort(key=lambda item: -weights[item.path])


@pytest.fixture(scope="session")
def probed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the cache remembers of how commands can be confined here: found out once, not by each test's sessions."""
    from sandbox.backends.selection import choose_sandbox

    cache = tmp_path_factory.mktemp("probed")
    choose_sandbox(cache, cache=cache)
    file = cache / PROBE
    return dict(json.loads(file.read_bytes())) if file.exists() else {}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    """What the tests of a worker share."""

    homes: str
    """The folder of the tests' homes."""
    probed: dict[str, Any]
    path: str
    """PATH: projects' tests run by the interpreter that runs these, whatever Pythons and plugins the machine has."""


@pytest.fixture(scope="session")
def surroundings(
    tmp_path_factory: pytest.TempPathFactory, probed: dict[str, Any], projects_python: Path
) -> _Surroundings:
    """Made once: a test needs few calls of the system for a home of its own."""
    path = (str(projects_python), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    homes = str(tmp_path_factory.mktemp("homes").resolve())
    return _Surroundings(homes=homes, probed=probed, path=os.pathsep.join(path))


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, surroundings: _Surroundings) -> Path:
    """An empty home for the test and every process that it starts; returns it."""
    home = f"{surroundings.homes}/home{next(_NUMBERS['home'])}"
    Path(home).mkdir(mode=0o700)
    for name in [name for name in os.environ if _foreign(name)]:
        monkeypatch.delenv(name)
    variables = {
        "HOME": home,
        "PATCHWRIGHT_HOME": f"{home}/patchwright",
        "GIT_CONFIG_GLOBAL": f"{home}/gitconfig",
        "GIT_CONFIG_NOSYSTEM": "1",
        "CI": "true",  # no offers for what this machine happens to have
        "PATH": surroundings.path,
        **{variable: f"{home}/{folder}" for variable, folder in _XDG.items()},
    }
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    _write(f"{home}/gitconfig", IDENTITY)
    if surroundings.probed:
        for folder in (f"{home}/patchwright", f"{home}/patchwright/cache"):
            Path(folder).mkdir(mode=0o700)
        # The result holds for one home: which one is a condition of it (see selection._build_cache_key).
        conditions = {**surroundings.probed["for"], "home": home}
        _write(f"{home}/patchwright/cache/{PROBE}", json.dumps({**surroundings.probed, "for": conditions}))
    return Path(home)


def _write(path: str, content: str) -> None:
    with open(path, "x", encoding="utf-8") as file:  # noqa: PTH123 (twice for each of the tests)
        file.write(content)


@pytest.fixture(scope="session")
def ledger_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo project, made once: its patches are a dozen processes of git."""
    from cli.commands.setup.demo_repository import create_demo_repository

    return create_demo_repository(tmp_path_factory.mktemp("template") / "ledger")


@pytest.fixture
def ledger(tmp_path: Path, ledger_template: Path) -> Path:
    """The demo project, freshly copied: five failing tests, four bugs, three files."""
    root = Path(shutil.copytree(ledger_template, tmp_path / "ledger", symlinks=True))
    # The index names the template's files by inode and time.
    subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=root, check=True)
    return root


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
