"""Draft of a pull request: from a branch's commits, with or without a model."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from tools.git.git_process import Git
    from tools.git.messages.message_style import Style


def compose_draft(git: Git, flags: Mapping[str, Any], base: str) -> str | None:
    """Return title and body of a pull request; None, with a message, if the branch has no commits of its own."""
    from agent.model.routing.roles import Role
    from cli.commands.git.change_review import resolve_commit
    from cli.commands.git.model_text import DIFF, ask_model, read_diff_excerpt
    from sandbox.secrets.child_environment import redact
    from tools.git.messages.message_prompts import build_pull_request_prompt
    from tools.git.messages.message_style import learn_style
    from tools.git.messages.model_message import parse_message

    start = resolve_commit(git, base)
    fork = git.run_text("merge-base", start, "HEAD", ok=(0, 1)) or start
    log = git.run("log", "--reverse", "--no-show-signature", "--format=%h %s%n%n%b", f"{fork}..HEAD")
    text = log.decode("utf-8", "replace").strip()
    if not text:
        print(sanitize_text(f"patchwright: HEAD has no commit that {base!r} has not"), file=sys.stderr)
        return None
    style = learn_style(git)
    asked = build_pull_request_prompt(style, redact(text)[:DIFF], read_diff_excerpt(git, fork, "HEAD"))
    said = str(parse_message(ask_model(git, flags, asked, "pull request", Role.FAST)))
    return (
        "\n\n".join(filter(None, (said, *_list_facts(git, fork))))
        if said
        else _draft_without_model(git, fork, style)
    )


def _draft_without_model(git: Git, fork: str, style: Style) -> str:
    """Draft from the commit messages and the changed symbols, without a model."""
    from sandbox.fs.regular_file import SETTINGS, read_regular_text
    from sandbox.fs.repository import read_branch
    from tools.git.git_change import read_committed_change
    from tools.git.messages.message_style import find_ticket
    from tools.git.messages.message_summary import compose_message

    subjects = git.run_text("log", "--reverse", "--no-merges", "--format=%s", f"{fork}..HEAD").splitlines()
    change = read_committed_change(git, fork, "HEAD")
    own = compose_message(change, style, find_ticket(read_branch(git.root)))
    title = subjects[0] if len(subjects) == 1 else own.partition("\n")[0]
    template = next((path for each in _TEMPLATES if (path := git.root / each).is_file()), None)
    parts = [title, _describe_commits(git, fork), *_list_facts(git, fork)]
    if listed := own.partition("\n\n")[2]:
        parts.append(f"## Files\n\n{_quote_mentions(listed.strip())}")
    if template is not None:
        parts.append((read_regular_text(template, SETTINGS, "replace") or "").strip())
    return "\n\n".join(parts)


def _describe_commits(git: Git, fork: str) -> str:
    """Return the commits with what their messages say of the reasons."""
    log = git.run(
        "log", "--reverse", "--no-merges", "--no-show-signature", "-z", "--format=%s%n%b", f"{fork}..HEAD"
    )
    rows = []
    for message in log.decode("utf-8", "replace").split("\0"):
        subject, _, body = message.partition("\n")
        if not subject.strip():
            continue
        paragraphs = [each for each in body.strip().split("\n\n") if each and not _TRAILERS.fullmatch(each)]
        rows.append(f"- {_quote_mentions(subject)}")
        rows += [
            f"  {_quote_mentions(line)}".rstrip()
            for line in "\n\n".join(paragraphs).split("\n")
            if paragraphs
        ]
    return "## What changed and why\n\n" + "\n".join(rows)


_TRAILERS = compile_lazily(r"(?:[A-Za-z-]+: .*(?:\n|$)|\s.*(?:\n|$))+")
"""The last paragraph of a message, if it is nothing but trailers."""


def _list_facts(git: Git, fork: str) -> list[str]:
    """Return the sections that code knows better than a model: tests that were run, issues that are closed."""
    from cli.commands.git.request_facts import read_request_facts

    commits = frozenset(git.run_text("rev-list", f"{fork}..HEAD").split())
    facts = read_request_facts(git.root, commits)
    tests = "\n".join(f"- {each}" for each in facts.tests)
    closing = facts.format_closing(git.read_setting("remote.origin.url"))
    return list(filter(None, (f"## Tests\n\n{tests}" if tests else "", closing)))


def _quote_mentions(text: str) -> str:
    """Return words of commits and names of files in a form in which a hosting service notifies nobody of them."""
    return re.sub(r"(?<![\w`/.])(@[\w-]+(?:/[\w-]+)?)", r"`\1`", text)


_TEMPLATES = (
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    ".gitlab/merge_request_templates/Default.md",
)


def find_default_base(git: Git) -> str:
    """Return the default target branch of a pull request."""
    head = git.run_text("rev-parse", "--abbrev-ref", "--quiet", "origin/HEAD", ok=(0, 1, 128))
    for each in (head, "origin/main", "origin/master", "main", "master"):
        if (
            each
            and each != "origin/HEAD"
            and git.run_text("rev-parse", "--verify", "--quiet", each, ok=(0, 1, 128))
        ):
            return each
    raise UserError(Fault.USAGE, "no base branch was found", "Name it: patchwright pr --base BRANCH")
