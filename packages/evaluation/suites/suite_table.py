"""The suites that `eval build` knows: where each comes from, under which licence, and the module that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from packages.evaluation.suites.built_task import Suite
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteEntry:
    """A public data set. module: has `build_tasks(request)`; address: where a copy comes from; paths: parts of a git
    repository that are unpacked, () for all; needs: what a task lacks where it cannot be made"""

    module: str
    description: str
    address: str
    licence: str
    paths: tuple[str, ...] = ()
    needs: str = ""

    def load(self) -> Suite:
        """Import the module and return its function."""
        built: Suite = import_module(f"packages.evaluation.suites.{self.module}").build_tasks
        return built


SUITES: Mapping[str, SuiteEntry] = {
    "quixbugs": SuiteEntry(
        module="programs.quixbugs",
        description="40 Python programs with a fault of one line",
        address="github.com/jkoppel/QuixBugs",
        licence="MIT",
        paths=(
            "python_programs",
            "correct_python_programs",
            "python_testcases",
            "json_testcases",
            "conftest.py",
        ),
    ),
    "humanevalfix": SuiteEntry(
        module="programs.humanevalfix",
        description="164 functions with a fault, in six languages",
        address="github.com/bigcode-project/octopack",
        licence="MIT",
        paths=("evaluation/create/humaneval-x/data",),
        needs="the language's compiler; some need libraries that are not installed",
    ),
    "debugbench": SuiteEntry(
        module="programs.debugbench",
        description="LeetCode programs in Python into which a fault was put",
        address="github.com/thunlp/DebugBench",
        licence="Apache-2.0; the programs are LeetCode users'",
        paths=("benchmark",),
        needs="programs whose examples can be read as values",
    ),
    "refactory": SuiteEntry(
        module="programs.refactory",
        description="students' wrong programs for five assignments in Python",
        address="github.com/githubhuyang/refactory (with data.zip)",
        licence="GPL-3.0",
        paths=("data.zip",),
    ),
    "polyglot": SuiteEntry(
        module="programs.polyglot",
        description="225 Exercism exercises in six languages",
        address="github.com/Aider-AI/polyglot-benchmark",
        licence="MIT (Exercism)",
        needs="the language's build tool; JavaScript, Java, C++ and some Rust exercises need packages",
    ),
    "refactorbench": SuiteEntry(
        module="projects.refactorbench",
        description="refactorings over several files, checked on the syntax tree",
        address="github.com/microsoft/RefactorBench",
        licence="MIT; the repositories keep their own",
        paths=(
            "problems",
            "tests",
            "scripts",
            *(
                f"repositories/{each}_refactor"
                for each in ("flask", "requests", "celery", "scrapy", "fastapi")
            ),
        ),
        needs="repositories that run without being installed: five of nine",
    ),
    "swebench": SuiteEntry(
        module="projects.swebench",
        description="issues of real projects: a file of instances as JSON or JSON lines",
        address="huggingface.co/datasets/princeton-nlp/SWE-bench_Lite",
        licence="MIT; the projects keep their own",
        needs="clones (--repositories), uv, and the network while an environment is made",
    ),
    "harbor": SuiteEntry(
        module="projects.harbor",
        description="task folders of Harbor and terminal-bench that need no container",
        address="github.com/laude-institute/terminal-bench, registries of Harbor",
        licence="Apache-2.0; each data set its own",
        needs="tasks whose Dockerfile only copies files or installs programs that are here",
    ),
}
"""Suites by name."""
