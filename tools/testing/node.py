"""JavaScript projects: the test script of package.json, through the project's own package manager."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json
from sandbox.process.command import Command
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment
from tools.testing import node_reports, output_parsers
from tools.testing.launch import FinishedRun, Launch
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.report import Findings
from tools.testing.selection import INSIDE, SELECTIONS, is_path, split_recipe

MANAGERS = {
    "pnpm-lock.yaml": ("pnpm", "test"),
    "yarn.lock": ("yarn", "test"),
    "bun.lock": ("bun", "run", "test"),
    "bun.lockb": ("bun", "run", "test"),
}
"""By lock file; the default is npm, which needs `--` before arguments for the script."""

_EMPTY_SCRIPT = "no test specified"
"""Part of the script that `npm init` writes for a project without tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A test framework that can write a report.

    starts: beginning of the command in the script
    arguments, options: reporter options, appended to the script or put into NODE_OPTIONS;
      {report} is replaced by the file, {reporter} by node's reporter
    """

    name: str
    starts: str
    parse: Callable[[FinishedRun], Findings]
    arguments: tuple[str, ...] = ()
    options: str = ""


def detect_node(project: Project) -> str:
    script = read_test_script(project)
    return f'package.json "test": {script!r}' if script and _EMPTY_SCRIPT not in script else ""


def read_test_script(project: Project) -> str:
    """Return the test script of package.json, "" if there is none."""
    return _read_scripts(project).get("test", "")


def _read_scripts(project: Project) -> Mapping[str, str]:
    try:
        scripts = parse_json(project.read_text("package.json") or "{}")["scripts"].items()
    except (ValueError, KeyError, TypeError, AttributeError):  # not JSON, or without such an entry
        return {}
    return {str(name): text for name, text in scripts if isinstance(text, str)}


def is_delegating(script: str) -> bool:
    """Return whether a script does nothing but start the test scripts of all members of the workspace."""
    words = script.split()
    if tuple(words[:2]) in _EACH_MEMBER:
        words = ["yarn", "--every", *words[3:]]  # foreach, or run in yarn 1
    others = [word for word in words[1:] if not word.startswith("-")]
    options = {word for word in words[1:] if word.startswith("-")}
    is_whole = bool(words) and bool(options & _EVERY_MEMBER.get(words[0], frozenset()))
    return is_whole and set(others) <= {"run", "run-script", "test", "t"} and not options & _SELECTING


_EACH_MEMBER = (("yarn", "workspaces"),)
_EVERY_MEMBER = {
    "npm": frozenset({"--workspaces", "-ws"}),
    "pnpm": frozenset({"-r", "--recursive"}),
    "yarn": frozenset({"--every"}),
}
"""Options by which a manager runs a script in all members of a workspace."""

_SELECTING = frozenset(
    {"--include-workspace-root", "-iwr", "--filter", "-F", "--include", "--exclude", "--since"}
)
"""Options by which it runs others, or fewer."""

_RUN_SCRIPT = compile_lazily(
    r"(?P<manager>npm|pnpm|yarn|bun)\s+(?P<verb>(?:run|run-script)\s+(?:(?:-s|--silent)\s+)?)?(?P<name>[\w:.@/-]+)"
    r"(?P<rest>.*)",
    re.S,
)
_OF_MEMBERS = compile_lazily(
    r"\s(?:--workspaces?|-ws?|-r|--recursive|--filter|-F|--prefix|-C|--cwd|workspaces?)(?![\w-])"
)
"""Words by which a manager runs the scripts of other packages."""

_MOST_NESTED = 8
"""Scripts within scripts that are followed, so that one that runs itself ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCommand:
    """A command of the test script. separators: number of `--` that arguments need to come through nested npm calls"""

    text: str
    separators: int = 0

    @property
    def framework(self) -> Framework | None:
        return find_framework(self.text)


def list_script_commands(project: Project) -> list[ScriptCommand]:
    """Return the commands of the test script in their order; scripts that it runs are followed."""
    return list(_follow_script(_read_scripts(project), "test", 0, 0))


def _follow_script(
    scripts: Mapping[str, str], name: str, separators: int, depth: int
) -> Iterator[ScriptCommand]:
    for part in re.split(r"&&|\|\||;", scripts.get(name, "")):
        text = _strip_prefix(part)
        inner = None if _OF_MEMBERS.search(text) else _RUN_SCRIPT.match(text)
        run = _name_script(inner) if inner else ""
        if inner and run in scripts and depth < _MOST_NESTED:
            needs_separator = inner["manager"] == "npm" and " -- " not in f"{inner['rest']} "
            yield from _follow_script(scripts, run, separators + needs_separator, depth + 1)
        else:
            yield ScriptCommand(text=text, separators=separators)


def detect_bun(project: Project) -> str:
    """Return the file of a bun project without a test script: bun runs test files itself."""
    found = next(
        (name for name in ("bun.lock", "bun.lockb", "bunfig.toml") if project.contains_text(name, "")), ""
    )
    return "" if detect_node(project) else found


async def launch_bun(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    return _make_launch("bun", ("bun", "test"), project, targets, {})


def detect_deno(project: Project) -> str:
    return next((name for name in ("deno.json", "deno.jsonc") if project.contains_text(name, "")), "")


def declares_tests(project: Project) -> bool:
    """Return whether a script of package.json or a task of deno.json runs tests."""
    return bool(detect_node(project)) or _has_deno_task(project)


def _has_deno_task(project: Project) -> bool:
    return any(
        re.search(r'"test"\s*:\s*["{]', project.read_text(name)) for name in ("deno.json", "deno.jsonc")
    )


async def launch_deno(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    argv = ("deno", "task", "test") if _has_deno_task(project) else ("deno", "test")
    return _make_launch("deno", argv, project, targets, {"NO_COLOR": "1"})


def _make_launch(
    runner: str, argv: Sequence[str], project: Project, targets: Sequence[str], env: Mapping[str, str]
) -> Launch:
    words = (*argv, *SELECTIONS[runner].format_arguments(targets))
    return Launch(
        runner=runner,
        argv=words,
        command=project.format_command(words),
        parse=output_parsers.parse_any,
        env={**shell_environment(), "CI": "true", **env},
    )


def _name_script(call: re.Match[str]) -> str:
    """Return the script that a call of a package manager runs, "" for none."""
    if call["verb"] or call["manager"] in ("pnpm", "yarn"):
        return call["name"]
    return "test" if call["manager"] == "npm" and call["name"] in ("t", "test") else ""


async def launch_node(at: Workspace, project: Project, targets: Sequence[str], reports: Path) -> Launch:
    manager = find_manager(project)
    commands = list_script_commands(project)
    known = [each for each in commands if each.framework]
    # of several runners each prints its results, while arguments reach the last and one report file keeps one of them
    framework = known[0].framework if len(known) == 1 and known[0] is commands[-1] else None
    report = str(reports / "report")
    ours = tuple(each.format(report=report) for each in framework.arguments) if framework else ()
    selection = SELECTIONS.get(framework.name) if framework else None
    files_only = framework is not None and not (selection and selection.name)
    if framework and files_only and not all(is_path(target.partition(INSIDE)[0]) for target in targets):
        raise TestsNotRunnable(f"{framework.name} runs files, not single tests")
    if framework and framework.name == "node" and any(target.count(INSIDE) > 1 for target in targets):
        targets = await _shorten_names(at, targets)
    chosen = selection.format_arguments(targets) if selection else tuple(targets)
    inner = commands[-1].separators if commands else 0
    separator = ("--",) * ((manager[0] == "npm") + inner) if ours or targets else ()
    shown = (*manager, *(separator if targets else ()), *chosen)
    started = (*manager, *separator, *ours, *chosen)
    if (
        framework and framework.name == "node" and chosen
    ):  # its options precede the files, which end the script
        shown = started = _insert_options(commands[-1].text, chosen) or shown
    cache = at.folders.cache / "npm"
    create_private_folder(cache)
    env = {
        **shell_environment(),
        **_PRESENT_MANAGER,
        "CI": "true",
        "npm_config_cache": str(cache),
    }  # no watch mode
    if framework and framework.options:
        reporter = reports / "reporter.mjs"
        reporter.write_text(node_reports.NODE_REPORTER)
        env["NODE_OPTIONS"] = framework.options.format(report=report, reporter=reporter)
    return Launch(
        runner=framework.name if framework else manager[0],
        argv=started,
        command=project.format_command(shown),
        parse=framework.parse if framework else output_parsers.parse_any,
        has_count=framework is not None,
        env=env,
        writable=(cache,),
    )


_PRESENT_MANAGER = {
    "pnpm_config_pm_on_fail": "ignore",
    "npm_config_manage_package_manager_versions": "false",
    "npm_config_package_manager_strict": "false",
    "SKIP_YARN_COREPACK_CHECK": "1",
    "COREPACK_ENABLE_NETWORK": "0",
}
"""Variables by which pnpm (12; 9 and 10), yarn 1 and corepack start a script in the version that is there: without a
network they would try for a minute to load the one that the project names."""


async def _shorten_names(at: Workspace, targets: Sequence[str]) -> Sequence[str]:
    """Return the targets as this node selects them: before 22 by the name of a test alone, without its suites."""
    command = Command(argv=("node", "--version"), cwd=at.root, timeout=20, scope="read-only")
    try:
        said = (await at.sandbox.run(command)).stdout.text()
    except UserError:  # it is not installed, which the run will say
        return targets
    version = re.match(r"v(\d+)\.", said)
    if version is None or int(version[1]) >= _SELECTS_BY_SUITE:
        return targets
    return [
        f"{file}{inside}{name.rpartition(INSIDE)[2]}"
        for file, inside, name in (t.partition(INSIDE) for t in targets)
    ]


_SELECTS_BY_SUITE = 22
"""Version of node whose pattern of names sees those of the suites above a test."""

_VALUED_OPTIONS = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
)
"""Options of node whose value is the next word."""


def _insert_options(script: str, chosen: Sequence[str]) -> tuple[str, ...]:
    """Return a script's call of node with other files and names, () if only a shell could run the script."""
    words = re.split(r"\s+", script.strip())
    options = [
        word
        for before, word in zip(("", *words), words, strict=False)
        if word.startswith("-") or before in _VALUED_OPTIONS
    ]
    return (words[0], *options, *chosen) if split_recipe(" ".join((words[0], *options))) else ()


def find_manager(project: Project) -> tuple[str, ...]:
    """Return the package manager's command for the test script: as `packageManager` or `devEngines` name it, else by
    the lock file; a package without either has that of its workspace."""
    for place in (project, project.above):
        if place is None:
            continue
        named = _read_manager_name(place)
        if run := next((run for run in _RUNS if run[0] == named), None):
            return run
        if run := next((run for lock, run in MANAGERS.items() if place.contains_text(lock, "")), None):
            return run
    return _RUNS[0]


def _read_manager_name(project: Project) -> str:
    try:
        data = parse_json(project.read_text("package.json") or "{}")
        named = data.get("packageManager") or data["devEngines"]["packageManager"]["name"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    return str(named).partition("@")[0]


_RUNS = (("npm", "test"), *dict.fromkeys(MANAGERS.values()))


def find_framework(command: str) -> Framework | None:
    """Return the framework that a command of a script starts."""
    text = _strip_prefix(command)
    return next((each for each in FRAMEWORKS if re.match(rf"(?:{each.starts})(?:\s|$)", text)), None)


def _strip_prefix(command: str) -> str:
    return re.sub(r"^(?:(?:npx|cross-env|\w+=\S+|dotenv|--)\s+)*", "", command.strip())


FRAMEWORKS = (
    Framework(
        name="jest",
        starts="jest|react-scripts test",
        parse=node_reports.parse_jest,
        arguments=("--json", "--outputFile={report}"),
    ),
    Framework(
        name="vitest",
        starts="vitest",
        parse=node_reports.parse_jest,
        arguments=("--run", "--reporter=default", "--reporter=json", "--outputFile={report}"),
    ),
    Framework(
        name="mocha",
        starts="mocha",
        parse=node_reports.parse_mocha,
        arguments=("--reporter", "json", "--reporter-option", "output={report}"),
    ),
    *(
        Framework(name=name, starts=starts, parse=output_parsers.parse_any)
        for name, starts in (
            ("ava", "ava"),
            ("tap", "tap"),
            ("uvu", "uvu"),
            ("bun", "bun test"),
            ("deno", "deno test"),
            ("playwright", "playwright test"),
            ("jasmine", "jasmine"),
            ("qunit", "qunit"),
            ("cucumber-js", "cucumber-js"),
            ("lab", "lab"),
            ("tape", "tape"),
        )
    ),
    Framework(  # its options must precede the files, which end the script
        name="node",
        starts="node (?:.* )?--test",
        parse=node_reports.parse_node,
        options='--test-reporter="{reporter}" --test-reporter-destination="{report}" '
        "--test-reporter=spec --test-reporter-destination=stdout",
    ),
)
