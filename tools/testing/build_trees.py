"""Projects whose tests are run by CTest, in a build tree outside the sources, or by RSpec."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_pattern import compile_lazily
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import output_parsers
from tools.testing.launch import LISTING, FinishedRun, Launch
from tools.testing.project_files import Project
from tools.testing.report import Findings
from tools.testing.summary_format import CUT_SHORT

_CTEST = compile_lazily(r"^\s*(enable_testing\s*\(|include\s*\(\s*CTest\s*\))", re.MULTILINE | re.IGNORECASE)


def detect_ctest(project: Project) -> str:
    return "CMakeLists.txt" if defines_ctest(project.read_text("CMakeLists.txt")) else ""


def defines_ctest(text: str) -> bool:
    """Return whether a CMakeLists.txt makes tests that CTest runs."""
    return _CTEST.search(text) is not None


async def launch_ctest(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    """Configure, build and test in the project's own build tree, else in one in the cache. targets: names of tests"""
    own = project.contains_text("build/CMakeCache.txt", "")
    cache = at.folders.cache / "cmake" / project.key
    create_private_folder(cache)
    chosen = ("-R", f"^({'|'.join(map(re.escape, targets))})$") if targets else ()
    listing = ("-N",) if at.facts.get(LISTING) else ()
    return Launch(
        runner="ctest",
        argv=("bash", "-c", _format_steps("build" if own else str(cache), (*listing, *chosen))),
        command=_format_steps("build", chosen),
        parse=_parse_ctest_listing if listing else output_parsers.parse_any,
        env={**shell_environment(), "CLICOLOR": "0"},
        writable=(cache,),
        can_list=True,
    )


def _format_steps(folder: str, chosen: Sequence[str]) -> str:
    at = shlex.quote(folder)
    test = shlex.join(("ctest", "--test-dir", folder, "--output-on-failure", *chosen))
    return f"cmake -S . -B {at} && cmake --build {at} && {test}"


def _parse_ctest_listing(evidence: FinishedRun) -> Findings:
    """Return the listed tests as passed."""
    names = re.findall(r"^  Test +#\d+: (.+)$", "\n".join(evidence.stream_lines()), re.M)
    return Findings(passed=len(names), passed_tests=tuple(names))


_COUNT_EXAMPLES = """\
RSpec.configure do |config|
  config.before(:suite) { File.write(File.join(__dir__, "count"), RSpec.world.example_count.to_s) }
end
"""
"""Ruby code that writes the number of examples that are to run: one that calls `exit` ends the run with status 0."""


def _parse_rspec(evidence: FinishedRun) -> Findings:
    found = output_parsers.parse_any(evidence)
    planned = evidence.read_report_file("count")
    ran = found.passed + found.failed + found.skipped
    cut = planned.isdigit() and ran < int(planned) and not found.failed
    return replace(found, lost=CUT_SHORT) if cut else found


def detect_rspec(project: Project) -> str:
    return next((name for name in (".rspec", "spec/spec_helper.rb") if project.contains_text(name, "")), "")


async def launch_rspec(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    start = ("bundle", "exec", "rspec") if project.contains_text("Gemfile", "") else ("rspec",)
    counter = reports / "count.rb"
    counter.write_text(_COUNT_EXAMPLES)
    return Launch(
        runner="rspec",
        argv=(*start, "--no-color", "--require", str(counter), *targets),
        command=project.format_command((*start, *targets)),
        parse=_parse_rspec,
        env=shell_environment(),
    )
