"""Go and Rust: `go test` and `cargo test`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json
from sandbox.policy.decision import Mode
from tools.core.text import format_count, join_names
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import output_parsers
from tools.testing.launch import KNOWN_TESTS, LISTING, FinishedRun, Launch
from tools.testing.package_coverage import has_unlisted_members, list_go_modules
from tools.testing.project_files import Project
from tools.testing.report import (
    MAX_FAILURES,
    NOTHING,
    Findings,
    Kind,
    TestFailure,
    make_failure,
    tally_findings,
)
from tools.testing.summary_format import CUT_SHORT


def detect_go(project: Project) -> str:
    return next((name for name in ("go.mod", "go.work") if project.contains_text(name, "")), "")


async def launch_go(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    cache = at.folders.cache / "go-build"
    create_private_folder(cache)
    packages, tests = split_go_targets(targets)
    every = [f"./{folder}/...".replace("./.", ".") for folder in list_go_modules(project)] or ["./..."]
    arguments = (*(("-run", format_go_pattern(tests)) if tests else ()), *(packages or every))
    offline = {} if at.mode is Mode.FULL else {"GOPROXY": "off", "GOTOOLCHAIN": "local"}
    if project.above is not None and project.above.contains_text("go.work", ""):
        listed = project.folder in list_go_modules(project.above)
        offline = {
            **offline,
            **({} if listed else {"GOWORK": "off"}),
        }  # go refuses a module that it does not list
    modules = {_read_module(project, folder): folder for folder in (".", *list_go_modules(project))}
    return Launch(
        runner="go",
        argv=("go", "test", "-json", *arguments),
        command=project.format_command(("go", "test", *arguments)),
        parse=lambda evidence: parse_go(evidence, modules),
        env={**shell_environment(), **offline, "GOCACHE": str(cache)},
        writable=(cache,),
    )


def split_go_targets(targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split `pkg`, `pkg/a_test.go`, `pkg::TestX/case` or `TestX` into packages and test names."""
    packages: dict[str, None] = {}
    tests: dict[str, None] = {}
    for target in targets:
        place, _, name = target.rpartition("::") if "::" in target else (target, "", "")
        if not name and re.match(r"(Test|Example|Fuzz|Benchmark)\w*(/|$)", place):
            place, name = "", place
        if name:
            tests[name] = None
        if place:
            folder = str(Path(place).parent) if place.endswith(".go") else place
            packages["." if folder == "." else f"./{folder.removeprefix('./')}"] = None
    return tuple(packages), tuple(tests)


def format_go_pattern(tests: Sequence[str]) -> str:
    """Return the value of -run for tests and subtests, whose names are matched level by level."""
    levels = [
        [re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", part) for part in test.split("/")] for test in tests
    ]
    if all(len(parts) == 1 for parts in levels):
        return f"^({'|'.join(parts[0] for parts in levels)})$"
    return "|".join("/".join(f"^{part}$" for part in parts) for parts in levels)


def _read_module(project: Project, folder: str) -> str:
    return next(iter(re.findall(r"^module\s+(\S+)", project.read_text(f"{folder}/go.mod"), re.M)), "")


def parse_go(evidence: FinishedRun, modules: Mapping[str, str]) -> Findings:
    """Parse the event stream of `go test -json`; a package that does not compile has no tests in it.

    modules: folder of each module by its path
    """
    verdicts: dict[tuple[str, str], Kind] = {}
    output: dict[tuple[str, str], list[str]] = {}
    counted = False
    for line in evidence.stream_lines():
        event = _parse_event(line)
        if event is None:
            continue
        counted = True
        key = (str(event.get("Package") or event.get("ImportPath", "")), str(event.get("Test", "")))
        action = event.get("Action")
        if action in ("output", "build-output"):
            output.setdefault(key, []).append(str(event.get("Output", "")))
        elif action in _GO_VERDICTS:
            verdicts[key] = _GO_VERDICTS[action]
    if not counted:
        return NOTHING
    return _build_go_findings(verdicts, output, evidence, modules)


_GO_VERDICTS: Mapping[Any, Kind] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _build_go_findings(
    verdicts: Mapping[tuple[str, str], Kind],
    output: Mapping[tuple[str, str], list[str]],
    evidence: FinishedRun,
    modules: Mapping[str, str],
) -> Findings:
    parents = {each for key in verdicts for each in _list_parents(key)}
    failing = {key for key, verdict in verdicts.items() if verdict == "failed"}
    by_subtests = {each for key in failing for each in _list_parents(key)}
    leaves = {  # a test with subtests counts where it fails by itself
        key: verdict
        for key, verdict in verdicts.items()
        if key[1] and (key not in parents or key in failing - by_subtests)
    }
    failures: list[TestFailure] = []
    for (package, test), verdict in leaves.items():
        if verdict == "failed":
            folder = _find_go_folder(package, modules)
            failures.append(_build_go_failure(folder, test, "".join(output.get((package, test), []))))
    failed = {package for (package, test), verdict in leaves.items() if verdict == "failed"}
    unbuilt = sorted(
        package
        for (package, test), verdict in verdicts.items()
        if not test and verdict == "failed" and package not in failed
    )
    for package in unbuilt:
        text = "".join(line for key, lines in output.items() if key[0].startswith(package) for line in lines)
        failures.append(make_failure(_find_go_folder(package, modules) or ".", message=text or evidence.text))
    kinds = list(leaves.values())
    names = [f"{_find_go_folder(package, modules) or '.'}::{test}" for package, test in leaves]
    kinds.extend("errors" for _ in unbuilt)
    problem = (
        f"{format_count(len(unbuilt), 'package')} did not build or start: {join_names(unbuilt, 5)}"
        if unbuilt
        else ""
    )
    idle = sorted(
        package
        for (package, test), verdict in verdicts.items()
        if not test and verdict == "passed" and not any(key[0] == package and key[1] for key in verdicts)
        if not _GO_IDLE.search("".join(output.get((package, ""), ())))
    )
    lost = f"{CUT_SHORT}: {join_names(idle, 5)}" if idle else ""
    return replace(tally_findings(kinds, failures, problem, names), lost=lost)


_GO_IDLE = compile_lazily(r"\[no test files\]|\[no tests to run\]|no tests to run|\(cached\)")
"""What go says of a package in which no test was to run; without it, a TestMain has ended the process before any."""


def _list_parents(key: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the tests that a subtest may be in: its own name can have slashes."""
    package, test = key
    while "/" in test:
        test = test.rpartition("/")[0]
        yield package, test


def _find_go_folder(package: str, modules: Mapping[str, str]) -> str:
    """Return the folder of a package, "" for the root; its path where no known module holds it."""
    holders = [each for each in modules if each and (package == each or package.startswith(f"{each}/"))]
    if not holders:
        return package
    module = max(holders, key=len)
    return f"{modules[module].removeprefix('.')}/{package.removeprefix(module).strip('/')}".strip("/")


def _build_go_failure(folder: str, test: str, text: str) -> TestFailure:
    body = "\n".join(line for line in text.splitlines() if not re.match(r"\s*(===|---) ", line))
    place = re.search(r"^\s+(?P<file>[\w./-]+\.go):(?P<line>\d+): ?(?P<message>.*)", body, re.M)
    file = f"{folder}/{place['file']}".strip("/") if place else ""
    line = int(place["line"]) if place else 0
    message = place["message"] if place else body
    return make_failure(f"{folder or '.'}::{test}", file=file, line=line, message=message, detail=body)


def _parse_event(line: str) -> Mapping[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        event = parse_json(line)
    except ValueError:  # test output that begins like an event
        return None
    return event if isinstance(event, dict) and "Action" in event else None


def detect_cargo(project: Project) -> str:
    return "Cargo.toml" if project.contains_text("Cargo.toml", "") else ""


async def launch_cargo(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    env = {**shell_environment(), "CARGO_TERM_COLOR": "never"}
    if at.mode is not Mode.FULL:
        env["CARGO_NET_OFFLINE"] = "true"
    writable: tuple[Path, ...] = ()
    if (
        not (at.root / "target").is_dir() or at.mode is Mode.READ_ONLY
    ):  # without a build folder in the project, build outside it
        built = at.folders.cache / "cargo" / project.key
        create_private_folder(built)
        env["CARGO_TARGET_DIR"] = str(built)
        writable = (built,)
    # the whole name of a test, which others may begin with
    is_whole = set(targets) <= at.facts.get(KNOWN_TESTS, frozenset())
    exact = ("--exact",) if is_whole and " " not in "".join(targets) else ()  # rustdoc splits names at blanks
    listing = ("--list",) if at.facts.get(LISTING) else ()
    names = ("--", *listing, *exact, *targets) if targets or listing else ()
    every = ("--workspace",) if has_unlisted_members(project) else ()
    return Launch(
        runner="cargo",
        argv=("cargo", "test", "--no-fail-fast", *every, *names),
        command=project.format_command(("cargo", "test", *every, *names)),
        parse=_parse_cargo_listing if listing else parse_cargo,
        env=env,
        writable=writable,
        can_list=True,
    )


_CARGO_LINE = compile_lazily(
    r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<verdict>ok|FAILED|ignored)", re.M
)
_CARGO_SECTION = compile_lazily(
    r"^---- (?P<name>.+?) stdout ----\n(?P<body>.*?)(?=^---- |^failures:|\Z)", re.M | re.S
)
_PANIC = compile_lazily(
    r"panicked at (?:'(?P<old>.*?)', )?(?P<file>[^\s:']+):(?P<line>\d+):\d+(?::\n(?P<new>.*))?", re.S
)


def parse_cargo(evidence: FinishedRun) -> Findings:
    """Parse the output of `cargo test`: one block for each test binary."""
    text = "\n".join(evidence.stream_lines())
    kinds: Mapping[str, Kind] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
    lines = list(_CARGO_LINE.finditer(text))
    if not lines and not re.search(r"^(?:test result:|running \d+ tests?$)", text, re.M):
        problem = "it does not compile" if "could not compile" in text else "cargo could not start the tests"
        return Findings(broken=problem, counted=False) if evidence.returncode else NOTHING
    bodies = {section["name"]: section["body"].strip() for section in _CARGO_SECTION.finditer(text)}
    failed = [line["name"] for line in lines if line["verdict"] == "FAILED"]
    failures = [_build_cargo_failure(name, bodies.get(name, "")) for name in failed[:MAX_FAILURES]]
    names = [line["name"] for line in lines]
    found = tally_findings((kinds[line["verdict"]] for line in lines), failures, names=names)
    return replace(found, lost=output_parsers.find_loss(evidence, "cargo"))


def _parse_cargo_listing(evidence: FinishedRun) -> Findings:
    """Return the listed tests as passed; without a list, as where nothing compiles, the run is parsed."""
    names = re.findall(r"^(\S.*): test$", "\n".join(evidence.stream_lines()), re.M)
    return Findings(passed=len(names), passed_tests=tuple(names)) if names else parse_cargo(evidence)


def _build_cargo_failure(name: str, body: str) -> TestFailure:
    kept = "\n".join(line for line in body.splitlines() if not line.startswith("note: "))
    panic = _PANIC.search(kept)
    if panic is None:
        return make_failure(name, message=kept)
    message = panic["old"] or panic["new"] or ""
    return make_failure(name, file=panic["file"], line=int(panic["line"]), message=message, detail=kept)
