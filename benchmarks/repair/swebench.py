"""SWE-bench instances of sympy and Django as bugs of `mining`: each becomes a commit in a scratch clone.

    python -m benchmarks.repair.swebench INSTANCES.jsonl OUT.jsonl --scratch DIR --python PY sympy=CLONE django=CLONE

Django's tests want settings and a database; a conftest.py that does what its `runtests.py` does comes with them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.repair.mining import Bug, failing_tests, fix_size
from tools.repair.localize.coverage_spectrum import is_test_file

CONFTEST = '''\
"""What runtests.py does, for pytest: settings for the applications whose tests are run, and a database in memory."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "test_sqlite")
os.environ.setdefault("RUNNING_DJANGOS_TEST_SUITE", "true")


def pytest_configure(config):
    import django
    import runtests
    from django.conf import settings

    files = [os.path.abspath(each.split("::")[0]) for each in config.args]
    labels = sorted({os.path.relpath(each, HERE).split(os.sep)[0] for each in files})
    settings.INSTALLED_APPS = [*runtests.ALWAYS_INSTALLED_APPS, *(each for each in labels if each.isidentifier())]
    settings.ROOT_URLCONF = "urls"
    settings.STATIC_URL = "static/"
    settings.TEMPLATES = [{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [runtests.TEMPLATE_DIR],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.debug",
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]},
    }]
    settings.LANGUAGE_CODE = "en"
    settings.SITE_ID = 1
    settings.MIDDLEWARE = runtests.ALWAYS_MIDDLEWARE
    settings.MIGRATION_MODULES = {"auth": None, "contenttypes": None, "sessions": None, "sites": None}
    settings.SILENCED_SYSTEM_CHECKS = ["fields.W342", "fields.W903"]
    django.setup()


def pytest_sessionstart(session):
    from django.test.utils import setup_databases, setup_test_environment

    setup_test_environment()
    setup_databases(verbosity=0, interactive=False)
'''


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.repair.swebench", description=__doc__.split("\n")[0]
    )
    parser.add_argument("instances", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "clones", nargs="+", help="NAME=PATH, the name being what stands after the / in `repo`"
    )
    parser.add_argument("--scratch", type=Path, required=True, help="folder for clones that are changed")
    parser.add_argument("--python", type=Path, required=True, help="has pytest and what the projects need")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    clones = dict(each.split("=", 1) for each in options.clones)
    with options.out.open("a", encoding="utf-8") as file:
        for bug in bugs(
            options.instances, {n: Path(p) for n, p in clones.items()}, options.scratch, options.python
        ):
            file.write(bug.as_line())
            file.flush()
            print(f"{bug.name}: {bug.edits} edits, {len(bug.failing)} failing: {bug.subject}", flush=True)


def bugs(instances: Path, clones: Mapping[str, Path], scratch: Path, python: Path) -> Iterator[Bug]:
    """Instances of the named projects whose patch changes one line (or adds or removes one)."""
    for line in instances.read_text("utf-8").splitlines():
        instance: dict[str, Any] = json.loads(line)
        name = instance["repo"].split("/")[1]
        if name not in clones or not _is_one_line(instance["patch"]):
            continue
        clone = scratch.resolve() / name
        if not clone.exists():
            _git(scratch, "clone", "-q", "--shared", "--no-checkout", str(clones[name].resolve()), str(clone))
        commit = _committed(clone, instance, shim=CONFTEST if name == "django" else "")
        changed = _git(clone, "diff", "--name-only", f"{commit}^", commit).split()
        sources = [path for path in changed if path.endswith(".py") and not is_test_file(path)]
        tests = [path for path in changed if path not in sources]
        failing = failing_tests(clone, python, commit, sources, tests)
        if not failing:
            print(
                f"{instance['instance_id']}: its tests do not fail before and pass after with this Python",
                flush=True,
            )
            continue
        yield Bug(
            project=name, clone=str(clone), commit=commit, subject=instance["instance_id"], sources=tuple(sources),
            tests=tuple(tests), failing=failing, edits=fix_size(clone, commit, sources), sampled=False,
        )  # fmt: skip


def _committed(clone: Path, instance: Mapping[str, Any], shim: str) -> str:
    """The instance's fix and tests as a commit on its base; the same each time."""
    _git(clone, "checkout", "-q", "-f", instance["base_commit"])
    for patch in ("patch", "test_patch"):
        _git(clone, "apply", "--whitespace=nowarn", "-", text=instance[patch])
    if shim:
        (clone / "tests" / "conftest.py").write_text(shim, "utf-8")
    _git(clone, "add", "-A")
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    _git(
        clone,
        *who,
        "commit",
        "-q",
        "--no-verify",
        "-m",
        instance["instance_id"],
        "--date=2026-01-01T00:00:00Z",
    )
    return _git(clone, "rev-parse", "HEAD").strip()


def _is_one_line(patch: str) -> bool:
    signs = [
        line[0]
        for line in patch.splitlines()
        if line[:1] in ("+", "-") and line[1:].strip() and line[:3] not in ("+++", "---")
    ]
    return signs.count("+") <= 1 and signs.count("-") <= 1


def _git(folder: Path, *arguments: str, text: str | None = None) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
