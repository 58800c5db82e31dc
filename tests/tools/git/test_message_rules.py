"""Rules for commit messages that a project states: read as data, told, checked, and kept by what is composed.

What each tool refuses was tried with commitlint 20.5, commitizen 4, gitlint 0.19 and conventional-pre-commit 4.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.context.system_prompt import build_system_prompt
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.git.commits.session_commit import commit_session
from tools.git.git_change import read_staged_change
from tools.git.git_process import Git
from tools.git.messages.message_prompts import build_message_prompt
from tools.git.messages.message_rules import MessageRules, add_sign_off, has_case, wrap_body
from tools.git.messages.message_style import Style, add_ticket, check_message, finish_message, learn_style
from tools.git.messages.message_summary import compose_message
from tools.git.messages.rule_files import read_message_rules

CONVENTIONAL = "extends: ['@commitlint/config-conventional']\n"
SCRIPT = """\
// 'type-enum': [2, 'always', ['never']]
import x from './x';
/** @type {import('@commitlint/types').UserConfig} */
export default {
  extends: ["@commitlint/config-conventional"],
  rules: {
    'type-enum': [RuleConfigSeverity.Error, 'always', ['feat', "fix",]],
    "scope-enum": [2, 'always', ['core', 'it\\'s [x]']], /* 'scope-empty': [2, 'never'] */
    'body-max-line-length': [0],
    'header-max-length': [1, 'always', 20],
  },
};
"""
JSON = '{"commitlint": {"rules": {"subject-case": [2, "always", "lower-case"], "type-empty": [2, "never"]}}}'
CZ = '[tool.commitizen]\nname = "cz_customize"\nmessage_length_limit = 60\n'
CUSTOM = CZ + '[tool.commitizen.customize]\nschema_pattern = "(new|mend): .+"\n'
GITLINT = "[general]\ncontrib=contrib-title-conventional-commits,CC1\nignore=B6\n[title-max-length]\nline-length=50\n"
HOOKS = """\
repos:
  - repo: https://github.com/compilerla/conventional-pre-commit
    hooks:
      - id: conventional-pre-commit
        args: [--force-scope, --scopes, "api,web", docs]
"""


@pytest.mark.parametrize(
    ("name", "text", "good", "bad"),
    [
        (".commitlintrc.yml", CONVENTIONAL, "feat(x): add y", "Add y"),
        (".commitlintrc", CONVENTIONAL, "feat!: add y", "feat: Add y"),
        (
            ".commitlintrc.json",
            '{"extends": "@commitlint/config-angular"}',
            "build: " + "a" * 60,
            "fix: " + "a" * 70,
        ),
        ("commitlint.config.js", SCRIPT, "feat(core): add a header longer than twenty", "docs: add y"),
        ("commitlint.config.mjs", SCRIPT, "fix: " + "a" * 120, "style: a"),
        ("commitlint.config.ts", SCRIPT, "fix(core): add y\n\n" + "long " * 30, "fix(web): add y"),
        ("package.json", JSON, "any: add y", "any: add Y"),
        ("commitlint.config.js", SCRIPT, "fix: `Y` is added", "fix: add y."),
        (".cz.toml", '[tool.commitizen]\nname = "cz_conventional_commits"\n', "bump: version", "new: y"),
        ("pyproject.toml", CUSTOM, "mend: y", "fix: y"),
        ("pyproject.toml", CZ, "whatever", "a" * 61),
        ("cz.json", '{"commitizen": {"name": "cz_jira"}}', "ABC-12 #comment y", "y"),
        (".gitlint", GITLINT, "fix: y", "fix: " + "a" * 46),
        (".gitlint", GITLINT, "chore: y\n\n" + "a" * 80, "chore: y\n\n" + "a" * 81),
        (
            ".gitlint",
            "[title-match-regex]\nregex=^US\\d+\n[T3]\n",
            "US1 y\n\na body that is long enough",
            "Some y\n\n" + "a b " * 9,
        ),
        (".gitlint", "[general]\nverbosity=3\n", "Add y\n\na body that is long enough", "Add y"),
        (".pre-commit-config.yaml", HOOKS, "docs(api): y", "docs(cli): y"),
        (".pre-commit-config.yaml", HOOKS, "feat(web): y", "feat: y"),
        (".pre-commit-config.yaml", HOOKS, "fix(web): y", "chore(web): y"),
        ("cog.toml", "[commit_types]\nhotfix = {}\n", "hotfix: y", "warmfix: y"),
    ],
)
def test_rules_are_read_from_configuration(name: str, text: str, good: str, bad: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    rules = read_message_rules(tmp_path)
    assert rules.sources == (name,)
    assert rules.check(good) == []
    assert len(rules.check(bad)) == 1
    assert rules.describe()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("commitlint.config.js", "module.exports = require('./shared');"),
        ("commitlint.config.js", "export default { rules: { 'type-enum': [2, 'always', [ "),
        (".commitlintrc.json", "[1]"),
        (".commitlintrc.yml", "rules: {type-enum: [2, always, 3], header-max-length: [2, always, x]}"),
        (".gitlint", "no section\n"),
        (".cz.toml", "[tool.commitizen\n"),
        ("cog.toml", "= 1"),
        (".pre-commit-config.yaml", "repos: conventional-pre-commit"),
        (".pre-commit-config.yaml", "repos: [{hooks: [{id: conventional-pre-commit-2}]}, 3]"),
        (
            "pyproject.toml",
            CUSTOM.replace("(new|mend): .+", "(a+)+: .+").replace("message_length_limit = 60\n", ""),
        ),
    ],
)
def test_what_cannot_be_read_rules_nothing(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_message_rules(tmp_path).check("x y z") == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "pattern",
    [
        "(a|a)*b",
        "(a*)*b",
        "(a+)+b",
        "(.*,){20}x",
        "(a?){60}b",
        ".*.*.*.*.*.*.*x",
        "(x{1,99}){1,99}y",
        "(?:a|ab?){9}+c",
    ],
)
def test_a_pattern_that_may_take_time_without_end_rules_nothing(pattern: str) -> None:
    assert MessageRules(message_patterns=(pattern,)).check("a" * 300 + "\n\n" + "a, " * 90) == []


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^(feat|fix)(\(.+\))?!?: .+", "fix(cart): sum", "sum"),
        (r"(?s)(build|fix)(\(\S+\))?!?: ([^\n\r]+)((\n\n.*)|(\s*))?$", "fix: sum", "fixes: sum"),
        (r"^[A-Z]{2,5}-\d+ .*", "SHOP-12 sum", "sum"),
    ],
)
def test_usual_patterns_are_kept(pattern: str, good: str, bad: str) -> None:
    rules = MessageRules(message_patterns=(pattern,))
    assert not rules.check(good)
    assert rules.check(bad)


def test_rules_of_two_tools_hold_together(tmp_path: Path) -> None:
    (tmp_path / ".commitlintrc").write_text(CONVENTIONAL)
    (tmp_path / ".gitlint").write_text("[title-max-length]\nline-length=40\n[general]\nignore=B6,T3\n")
    rules = read_message_rules(tmp_path)
    assert (rules.header_length, rules.body_length) == (40, 80)
    assert rules.sources == (".commitlintrc", ".gitlint")


@pytest.mark.parametrize(
    ("text", "name", "is_so"),
    [
        ("Add x", "sentence-case", True),
        ("add X", "sentence-case", False),
        ("`Add` x", "sentence-case", False),
        ("Add The Thing", "start-case", True),
        ("ADD", "upper-case", True),
        ("AddThing", "pascal-case", True),
        ("add the thing", "lower-case", True),
        ("add-the-thing", "kebab-case", True),
        ("42 things", "sentence-case", False),
        ("追加する", "upper-case", False),
    ],
)
def test_cases_by_commitlints_names(text: str, name: str, *, is_so: bool) -> None:
    assert has_case(text, name) is is_so


def test_a_body_is_wrapped_and_nothing_else() -> None:
    message = (
        "Subject that is quite long and that is nevertheless kept on one line, since it is the subject\n\n"
        + "word " * 30
        + "\n\n- item "
        + "more " * 20
        + "\n  https://example.com/"
        + "x" * 90
        + "\n\n    code "
        + "y" * 90
        + "\n```\n"
        + "z " * 60
        + "\n```\n| a | "
        + "b" * 90
        + "\n\nReviewed-by: Somebody With A Very Long Name And An Address That Is Long <somebody@example.com>"
    )
    wrapped = wrap_body(message)
    assert wrapped.split() == message.split()
    long = [line for line in wrapped.split("\n") if len(line) > 72]
    assert [line[:9] for line in long] == [
        "Subject t",
        "  https:/",
        "    code ",
        "z z z z z",
        "| a | bbb",
        "Reviewed-",
    ]
    assert "\n  more" in wrapped
    assert wrap_body(wrapped) == wrapped
    assert wrap_body("Subject\n") == "Subject"


def test_a_sign_off_is_added_once_and_at_the_end() -> None:
    once = add_sign_off("Subject\n\nBody.\n\nAssisted-by: X", "A B <a@b.c>")
    assert once == "Subject\n\nBody.\n\nAssisted-by: X\nSigned-off-by: A B <a@b.c>"
    assert add_sign_off(once, "A B <a@b.c>") == once
    assert add_sign_off("Subject", "A <a@b.c>") == "Subject\n\nSigned-off-by: A <a@b.c>"


@pytest.mark.parametrize(
    ("path", "text", "is_signed"),
    [
        (".github/dco.yml", "require: {}\n", True),
        ("CONTRIBUTING.md", "Each commit has a `Signed-off-by` line.\n", True),
        ("CONTRIBUTING.md", "Be kind.\n", False),
        (".gitlint", "[general]\ncontrib=contrib-body-requires-signed-off-by\n", True),
        (".commitlintrc", "rules: {signed-off-by: [2, always, 'Signed-off-by:']}\n", True),
    ],
)
def test_a_sign_off_is_made_where_the_project_requires_it(
    path: str, text: str, *, is_signed: bool, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "r")
    repo.write(path, text)
    repo.commit_all()
    style = learn_style(Git.from_folder(repo.root))
    assert style.is_signed is is_signed
    text = finish_message("Subject", style, "A B <a@b.c> 1700000000 +0000")
    assert ("Signed-off-by: A B <a@b.c>" in text) is is_signed


@pytest.mark.slow
def test_a_sign_off_is_made_where_nearly_all_commits_have_one(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    for number in range(9):
        repo.write("a.txt", str(number))
        repo.git("add", "-A")
        repo.git("commit", "-qm", f"Change {number}", "-m", "Signed-off-by: A <a@b.c>")
    assert learn_style(Git.from_folder(repo.root)).is_signed


def test_a_template_and_the_rules_are_told_to_the_model(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write(
        ".commitlintrc",
        "extends: ['@commitlint/config-conventional']\nrules: {scope-enum: [2, always, [core]]}\n",
    )
    repo.write(".gitmessage", "Why:\n\nRisk:\n")
    repo.commit_all()
    prompt = build_message_prompt(learn_style(Git.from_folder(repo.root)), "")
    assert "Scopes: core." in prompt
    assert "Risk:" in prompt


@pytest.mark.parametrize(
    ("rules", "start"),
    [
        (
            MessageRules(is_conventional=True, types=("feat", "fix"), refused_cases=("sentence-case",)),
            "feat: add ",
        ),
        (
            MessageRules(is_conventional=True, types=("new",), needs_scope=True, scopes=("core", "b.py")),
            "new(b.py): ",
        ),
        (MessageRules(is_conventional=True, needs_scope=True), "feat(b): "),
        (MessageRules(header_length=20, needs_body=True, body_shortest=5), "Add "),
        (MessageRules(is_conventional=True, wanted_cases=("lower-case",)), "feat: add"),
    ],
)
def test_what_code_composes_keeps_the_rules(rules: MessageRules, start: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("b.py", "def aLongNameOfAFunction():\n    return 1\n")
    repo.git("add", "-A")
    message = compose_message(read_staged_change(Git.from_folder(repo.root)), Style(rules=rules))
    assert message.startswith(start)
    assert check_message(message, Style(rules=rules))[0] == []


def test_the_ticket_of_the_branch_comes_in_front_where_commits_have_one() -> None:
    style = Style(commits=20, ticket="[{}] ", ticketed=1.0)
    assert add_ticket("Add x", style, "PAY-7") == "[PAY-7] Add x"
    assert add_ticket("[PAY-7] Add x", style, "PAY-7") == "[PAY-7] Add x"
    assert add_ticket("Add x", Style(), "PAY-7") == "Add x"


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        (".commitlintrc", CONVENTIONAL, True),
        ("pyproject.toml", CUSTOM, True),
        ("pyproject.toml", "[project]\n", False),
        ("a.py", "", False),
    ],
)
def test_a_session_is_told_the_rules_beforehand(
    name: str, text: str, *, is_told: bool, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "r")
    repo.write(name, text)
    prompt = build_system_prompt(
        repo.root, repo.root, mode="workspace", sandbox="none", branch="main", commits=True
    )
    assert ("<commit-rules>" in prompt) is is_told


@pytest.mark.slow
def test_a_commit_keeps_the_rules_or_is_not_made(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write(".commitlintrc", CONVENTIONAL)
    repo.write("CONTRIBUTING.md", "Signed-off-by is required.\n")
    repo.write("a.py", "x = 1\n")
    repo.commit_all("chore: start")
    at = repo.workspace()
    agent_writes(at, "a.py", "x = 2\n")
    with pytest.raises(ToolFailure, match="not `type: subject`") as failure:
        asyncio.run(commit_session(at, "Make it two"))
    assert "Types: build, chore" in str(failure.value)
    made = asyncio.run(commit_session(at, "fix: make it two\n\n" + "word " * 40))
    body = repo.git("log", "-1", "--format=%B", made.sha)
    assert max(map(len, body.split("\n"))) <= 72
    assert body.strip().split("\n")[-1].startswith("Signed-off-by: ")
