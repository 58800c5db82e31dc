"""The documents say only what works: their commands are run, their tables compared with the code."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.exit_codes import MEANING, Exit
from agent.monitor.phases import PHASES
from agent.monitor.workflow_rules import RULES
from agent.rules.event_pattern import EVENTS
from agent.rules.rule_kinds import KINDS
from agent.rules.rule_parsing import check_rules, parse_rules
from agent.session_settings import ContextSettings
from agent.turn.action_format import resolve_action_mode
from cli.commands.group import GROUPS
from cli.settings.layers import load_settings
from cli.settings.settings_types import Settings, get_setting, list_setting_names
from tests.support.cli import CHECKOUT, Result, run
from tests.support.confined import needs_confinement
from tests.support.loopback import Loopback
from tools.edit.match.matchers import Rung

README = CHECKOUT / "README.md"
INDEX = CHECKOUT / "docs/index.md"
ARCHITECTURE = CHECKOUT / "docs/architecture.md"
EXIT_CODES = CHECKOUT / "docs/exit-codes.md"
SETTINGS = CHECKOUT / "docs/settings.md"
EDITING = CHECKOUT / "docs/editing.md"
CODE_AS_ACTION = CHECKOUT / "docs/code-as-action.md"
CODE_MAP = CHECKOUT / "docs/code-map.md"
GIT = CHECKOUT / "docs/git.md"
HOOKS = CHECKOUT / "docs/hooks.md"
SESSIONS = CHECKOUT / "docs/sessions.md"
USER_RULES = CHECKOUT / "docs/rules.md"
AGENTS = CHECKOUT / "docs/agents.md"
AGENT_HOOKS = CHECKOUT / "docs/agent-hooks.md"
COMING_FROM = CHECKOUT / "docs/coming-from.md"
COMMANDS = CHECKOUT / "docs/commands.md"
SKILLS = CHECKOUT / "docs/skills.md"
OFFLINE = CHECKOUT / "docs/offline.md"
MCP = CHECKOUT / "docs/mcp.md"
CONTEXT = CHECKOUT / "docs/context.md"
TESTS = CHECKOUT / "docs/tests.md"

PAGES = (
    README,
    EXIT_CODES,
    SETTINGS,
    EDITING,
    GIT,
    HOOKS,
    SESSIONS,
    CONTEXT,
    CODE_MAP,
    CODE_AS_ACTION,
    USER_RULES,
    AGENTS,
    AGENT_HOOKS,
    COMING_FROM,
    COMMANDS,
    SKILLS,
    OFFLINE,
    MCP,
    TESTS,
)

CONSTRAINTS = r"grep -v -- --hash requirements.lock | sed 's/ \\$//' > constraints.txt"

NOT_RUN_HERE = {
    *("make demo", "make test", "export OPENAI_API_KEY=…", "patchwright", CONSTRAINTS),
    *("pipx install .", 'pipx install . --pip-args="--constraint $PWD/constraints.txt"'),
    'patchwright run "make the tests pass" --model gguf:~/models/coder.gguf',
}
"""Run by others: CI and the packaging tests, the terminal's tests, the test of docs/local-models.md."""

ENDS = {
    "session": {0, 2, 3},
    "context": {2},
    "config": {0},
    "schema": {0},
    "doctor": {0},
    "tests": {0},
    "warm": {0},
    "sessions": {0},
    "resume": {2},
    "hook": {0},
    "commit": {3},
    "review": {0, 3},
    "pr": {2, 3},
    "undo": {3},
    "redo": {3},
    "rewind": {3},
    "init": {0},
    "apply": {0},
    "trust": {0},
    "rules": {0},
    "agents": {0},
    "skill": {0},
    "plugin": {0},
    "mcp": {0, 3, 6},
    "import": {3},
    "agent-hooks": {0},
    "symbols": {0},
    "localize": {0},
    "repair": {0, 1},
    "kernel": {0},
    "functions": {3},
    "map": {0},
}
"""Exit codes of the examples that ask no model, in a fresh project."""

ASKING_FOR_CHANGE = {"add a --json flag to the report command", "tidy the imports"}
"""Prompts that want changed files of a model: the server says "ok" to all, which changes none."""


A_DIFF = "--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+to do\n"


def commands(document: Path) -> list[str]:
    """Each command line of the document's shell blocks, without its comment."""
    blocks = re.findall(r"^```sh\n(.*?)^```", document.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"\s+# .*", "", line) for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and line not in NOT_RUN_HERE]


def test_the_constraints_of_the_readme_are_the_versions_of_the_lock(tmp_path: Path) -> None:
    assert CONSTRAINTS in README.read_text("utf-8")
    lock = CHECKOUT / "requirements.lock"
    (tmp_path / lock.name).write_bytes(lock.read_bytes())
    subprocess.run(["bash", "-c", CONSTRAINTS], cwd=tmp_path, check=True)
    lines = [
        each for each in (tmp_path / "constraints.txt").read_text().splitlines() if each.lstrip()[:1] != "#"
    ]
    assert lines == re.findall(r"^[^\s#][^\\\n]*?(?= \\$|$)", lock.read_text(), re.MULTILINE)
    assert all("==" in each for each in lines)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("line", [each for page in PAGES for each in commands(page)])
def test_every_command_of_the_documents_runs(line: str, ledger: Path) -> None:
    (ledger / "edits.txt").write_text(A_DIFF)
    (ledger / "look.py").write_text("files = list_files()\n# %%\nlen(files)\n")
    (ledger / "notes.md").write_text("A block:\n\n```python\n1 + 1\n```\n")
    (ledger / "task.md").write_text("- do not touch order.py\n")
    [prepared] = re.findall(r"^```json\n(.*?)^```", AGENTS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (ledger / "answers.json").write_text(prepared)
    (ledger.parent / "other").mkdir()
    piped, _, rest = line.rpartition(" | ")
    words = shlex.split(rest)
    assert words[0] == "patchwright", line
    name = words[2] if words[1] in GROUPS else words[1]
    if name == "kernel":
        needs_confinement(ledger)
    with Loopback() as server:
        result = _run(words[1:], server.url, ledger, stdin=A_DIFF if piped else "")
    if name == "warm":
        run("warm", "stop", cwd=ledger)
    asks_for_change = not ASKING_FOR_CHANGE.isdisjoint(words)
    ended = {int(Exit.NOT_ACHIEVED if asks_for_change else Exit.DONE)}
    expected = ended if name == "run" else ENDS[name]
    assert result.code in expected, f"{line}: {result.code}\n{result.err}"


def _run(words: list[str], server: str, folder: Path, stdin: str) -> Result:
    """As written, but with the loopback server in place of the real ones."""
    env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server}
    if "--api-base" in words:
        words[words.index("--api-base") + 1] = server
    elif "--model" in words and words[words.index("--model") + 1].startswith("ollama/"):
        words += ["--api-base", server]
    if words[0] == "run" and "--model" not in words and not stdin:
        env = {}  # the offline engine's examples
        if "tests pass" not in words[1]:
            env = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server}
    return run(*words, cwd=folder, env=env, stdin=stdin)


def test_the_page_on_exit_codes_lists_each_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", EXIT_CODES.read_text("utf-8"), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == {int(code): MEANING[code] for code in Exit}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_the_examples_of_edits_do_what_they_say(number: int, tmp_path: Path) -> None:
    blocks = re.findall(r"^```\n(.*?)^```", EDITING.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    (tmp_path / "src").mkdir()
    (tmp_path / "src/cart.py").write_text("def total(items):\n    return sum(items)\n")
    (tmp_path / "src/old.py").write_text("")
    result = run("apply", "--exact", "-", cwd=tmp_path, stdin=blocks[number])
    assert result.code == 0, result.err
    [changed] = [path for path in (tmp_path / "src").iterdir() if path.name in ("cart.py", "basket.py")]
    assert changed.read_text() == "def total(items):\n    return round(sum(items), 2)\n"


def test_the_editing_page_lists_every_rung_in_order() -> None:
    table = re.findall(r"^\| ([a-z ]+) \| ", EDITING.read_text("utf-8"), re.MULTILINE)
    rungs = [each.value for each in Rung if each not in (Rung.POSITION, Rung.SYMBOL, Rung.WHOLE)]
    assert [name for name in table if name in rungs] == rungs


@pytest.mark.slow
def test_the_settings_of_the_context_are_those_that_hold() -> None:
    text = re.findall(r"^```toml\n(.*?)^```", CONTEXT.read_text("utf-8"), re.DOTALL | re.MULTILINE)[0]
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(text)
    assert load_settings(home, None, {}, {}).session.context == ContextSettings()


def test_the_example_of_the_settings_page_holds_settings() -> None:
    text = re.findall(r"^```toml\n(.*?)^```", SETTINGS.read_text("utf-8"), re.DOTALL | re.MULTILINE)[0]
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(text)
    settings = load_settings(home, None, {}, {}).session
    assert (settings.model, settings.tools.tests.command) == ("openai/gpt-5.5", "python -m pytest -q")


def test_the_settings_page_lists_every_setting_with_its_default() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| (?:`(.+?)`|unset) \| .+ \|$", SETTINGS.read_text("utf-8"), re.MULTILINE
    )
    assert [key for key, _ in rows] == list_setting_names()
    for key, default in rows:
        value = get_setting(Settings(), key)
        assert (json.loads(default) if default else None) == value, key


@pytest.mark.slow
def test_the_page_on_code_as_action_is_a_script_that_runs(ledger: Path) -> None:
    needs_confinement(ledger)
    result = run("kernel", CODE_AS_ACTION, cwd=ledger)
    assert result.code == 0, result.out + result.err
    assert "[2] ok" in result.out


def test_the_page_on_code_as_action_lists_every_rule_and_phase() -> None:
    text = CODE_AS_ACTION.read_text("utf-8")
    table = re.findall(r"^\| `([a-z]+-[a-z]+-[a-z]+)` \|", text, re.MULTILINE)
    assert table == [rule.name for rule in RULES]
    assert [name for name in PHASES if f"`{name}`" not in text] == []


def test_the_settings_of_the_page_on_code_as_action_are_settings() -> None:
    actions, discipline = re.findall(
        r"^```toml\n(.*?)^```", CODE_AS_ACTION.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(actions + discipline)
    settings = load_settings(home, None, {}, {}).session
    assert resolve_action_mode("ollama/any", settings.actions) == "code"
    assert settings.discipline.named == {"test-before-commit": "enforce"}


def test_the_page_on_rules_has_one_of_every_kind_and_all_events() -> None:
    text = USER_RULES.read_text("utf-8")
    [example] = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    rules = check_rules(parse_rules(tomllib.loads(example)["rules"], "rules.md"))
    kinds, events = (
        re.findall(r"^\| `([a-z-]+)` \|", part, re.MULTILINE) for part in text.split("## Events")
    )
    assert [each.kind for each in rules if each.name != "review-migrations"] == kinds == list(KINDS)
    assert events == list(EVENTS)


def test_every_page_is_linked_from_the_index() -> None:
    linked = set(re.findall(r"\]\(([a-z-]+\.md)\)", INDEX.read_text("utf-8")))
    assert linked == {path.name for path in INDEX.parent.glob("*.md")} - {INDEX.name}


def test_the_paths_in_the_architecture_exist() -> None:
    text = ARCHITECTURE.read_text("utf-8")
    quoted = {word for word in re.findall(r"`([^`\s]+/[^`\s]*)`", text) if re.fullmatch(r"[\w./-]+", word)}
    in_diagrams = set(
        re.findall(r"\b(?:cli|agent|tools|sandbox|packages|patchwright)/[\w/]+(?:\.py|\.json)?", text)
    )
    assert len(quoted) > 30
    assert len(in_diagrams) > 50
    assert sorted(each for each in quoted | in_diagrams if not (CHECKOUT / each).exists()) == []


def test_the_paths_in_the_page_on_the_core_exist_and_it_stays_short() -> None:
    text = (CHECKOUT / "docs/core.md").read_text("utf-8")
    quoted = set(re.findall(r"`([\w./-]+/[\w./-]*)`", text))
    assert len(quoted) > 25
    assert sorted(each for each in quoted if not (CHECKOUT / each).exists()) == []
    assert len(text.split()) <= 1_200


@pytest.mark.parametrize("page", ["architecture.md", "security.md"])
def test_the_two_reference_pages_stay_short_enough_to_be_read(page: str) -> None:
    """What a feature promises or does is said on the page of that feature, once."""
    assert len((CHECKOUT / "docs" / page).read_text("utf-8").split()) <= 3_500


@pytest.mark.parametrize("floor", ["cli", "agent", "tools", "sandbox", "packages"])
def test_the_architecture_names_every_package(floor: str) -> None:
    text = ARCHITECTURE.read_text("utf-8")
    found = [
        path.parent.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / floor).glob("*/__init__.py")
    ]
    assert found
    assert [each for each in found if f"| `{each}` |" not in text] == []


@pytest.mark.parametrize("document", ["README.md", *map(str, sorted(Path(CHECKOUT / "docs").rglob("*.md")))])
def test_links_between_documents_lead_somewhere(document: str) -> None:
    path = CHECKOUT / document
    for target, anchor in re.findall(
        r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)", path.read_text("utf-8")
    ):
        page = path.parent / target if target else path
        assert page.exists(), f"{document} points to {target}"
        assert not anchor or anchor in _anchors(page), f"{document} points to {target}#{anchor}"


def _anchors(page: Path) -> list[str]:
    """Return the anchors of a page: its own, and those that GitHub makes of its headings."""
    text = page.read_text("utf-8")
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]
    return made + re.findall(r"<a id=\"([^\"]+)\">", text)
