"""`patchwright commit`, `review` and `pr`: commit messages, reviews and pull requests, with or without a model."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.model.routing.roles import Role
from agent.model_selection import ModelSelection
from cli.hooks.confinement import choose_confinement
from cli.output.error_output import write_user_error
from cli.settings.layers import load_settings
from sandbox.errors import Fault, UserError
from sandbox.fs.repository import read_branch
from sandbox.policy.trust import TrustStore
from sandbox.process.git_runner import run_in_terminal
from sandbox.sanitize import quote_name, sanitize_json, sanitize_text
from sandbox.secrets.child_environment import redact
from tools.git.git_change import find_empty_tree, read_committed_change, read_staged_change
from tools.git.git_process import Git, GitFailed
from tools.git.messages.message_prompts import (
    build_message_prompt,
    build_pull_request_prompt,
    build_review_prompt,
    clean_message,
)
from tools.git.messages.message_style import Style, find_ticket, learn_style
from tools.git.messages.message_summary import compose_message
from tools.lint.checks import run_checks
from tools.lint.checks.finding import Finding

DIFF = 60_000
"""Characters of a diff sent to a model: about 15k tokens."""

PATIENCE, LONGEST = 180.0, 4_000
"""Limits on a model's answer, in seconds and tokens."""

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")


def commit_staged(folder: Path, flags: Mapping[str, Any], *, show: bool, edit: bool) -> int:
    """Commit the staged changes with a generated message. Returns the exit code.

    show: print the message and commit nothing; edit: open it in the user's editor first
    """
    git = Git.from_folder(folder)
    change = read_staged_change(git)
    if not change.files:
        print("patchwright: nothing is staged: git add what is to be committed", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    style = learn_style(git)
    diff = git.run("diff", "--cached", *_PLAIN).decode("utf-8", "replace")
    message = clean_message(
        _ask_model(git, flags, build_message_prompt(style, redact(diff)[:DIFF]), "commit message", Role.FAST)
    )
    message = (
        redact(message or compose_message(change, style, find_ticket(read_branch(git.root)))).rstrip() + "\n"
    )
    if show:
        print(sanitize_text(message), end="")
        return int(Exit.DONE)
    return _run_git_commit(git, message, edit=edit and sys.stdin.isatty())


def _run_git_commit(git: Git, message: str, *, edit: bool) -> int:
    """Run `git commit` with the user's hooks, signing and identity."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace", suffix=".txt") as file:
        file.write(message)
        file.flush()
        how = ["--edit"] if edit else ["--cleanup=whitespace"]
        environment = os.environ if _has_hooks(git) else None
        code = run_in_terminal(git.root, "commit", *how, f"--file={file.name}", environment=environment)
    return int(Exit.DONE if code == 0 else Exit.NOT_ACHIEVED)


def _has_hooks(git: Git) -> bool:
    """Return whether the user has hooks; they may need the whole PATH."""
    configured = git.read_setting("core.hooksPath", "path")
    folder = Path(git.root, configured or f"{git.run_text('rev-parse', '--git-common-dir')}/hooks")
    return folder.is_dir() and any(each.suffix != ".sample" for each in folder.iterdir())


def print_review(
    folder: Path, flags: Mapping[str, Any], target: str, *, base: str, cached: bool, as_json: bool
) -> int:
    """Print a review of a commit, of a branch's changes since `base`, of the staged changes or (by default) of all
    uncommitted changes. Exit code 1 if a check found an error; a model's opinion does not affect it."""
    found = review_change(folder, flags, target, base=base, cached=cached)
    if found is None:
        print("patchwright: nothing to review", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    if as_json:
        findings = [{key: getattr(each, key) for key in each.__dataclass_fields__} for each in found.findings]
        report = {"summary": found.summary, "findings": findings, "review": found.opinion}
        print(sanitize_json(json.dumps(report, ensure_ascii=False)))
    else:
        print(found.format_text())
    return int(Exit.TESTS_FAIL if any(each.severity == "error" for each in found.findings) else Exit.DONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """summary: what the change does; findings: of the checks; opinion: a model's, "" without one"""

    summary: str
    findings: Sequence[Finding]
    opinion: str

    def format_text(self) -> str:
        """Format the whole review as text."""
        lines = "\n".join(map(_format_finding, self.findings)) or "checks: nothing found"
        return sanitize_text("\n\n".join(filter(None, (self.summary, lines, self.opinion))))


def review_change(
    folder: Path, flags: Mapping[str, Any], target: str = "", *, base: str = "", cached: bool = False
) -> Review | None:
    """Review the change selected by `target`, `base` and `cached`; None if there is no change."""
    found = check_change(folder, target, base=base, cached=cached)
    if found is None:
        return None
    review, asked = found
    return replace(review, opinion=_ask_model(Git.from_folder(folder), flags, asked, "review", Role.JUDGE))


def check_change(
    folder: Path, target: str = "", *, base: str = "", cached: bool = False
) -> tuple[Review, str] | None:
    """Return (review without an opinion, prompt for a model); None if there is no change."""
    git = Git.from_folder(folder)
    with _select_change(git, target, base=base, cached=cached) as (its, sides):
        change = read_staged_change(its) if sides is None else read_committed_change(its, *sides)
        if not change.files:
            return None
        found = run_checks(change, confined=lambda: choose_confinement(its.root))
        summary = compose_message(change, Style()).strip()
        asked = _build_review_question(
            its, found, *((sides[0] or find_empty_tree(its), sides[1]) if sides else ("--cached",))
        )
    return Review(summary=summary, findings=found, opinion=""), asked


def ask_review_opinion(git: Git, flags: Mapping[str, Any], found: Sequence[Finding]) -> str:
    """Ask a model for its opinion of the staged changes, given the findings of the checks; "" without a model."""
    return _ask_model(git, flags, _build_review_question(git, found, "--cached"), "review", Role.JUDGE)


def _build_review_question(git: Git, found: Sequence[Finding], *sides: str) -> str:
    diff = git.run("diff", *_PLAIN, *sides).decode("utf-8", "replace")
    return build_review_prompt(redact(diff)[:DIFF], "\n".join(map(_format_finding, found)))


def draft_pull_request(folder: Path, flags: Mapping[str, Any], *, base: str, out: Path | None) -> int:
    """Draft the title and the body of a pull request into a file, and print its path."""
    git = Git.from_folder(folder)
    base = base or _find_default_base(git)
    start = _resolve_commit(git, base)
    fork = git.run_text("merge-base", start, "HEAD", ok=(0, 1)) or start
    log = git.run("log", "--reverse", "--no-show-signature", "--format=%h %s%n%n%b", f"{fork}..HEAD")
    text = log.decode("utf-8", "replace").strip()
    if not text:
        print(sanitize_text(f"patchwright: HEAD has no commit that {base!r} has not"), file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    style = learn_style(git)
    diff = git.run("diff", *_PLAIN, fork, "HEAD").decode("utf-8", "replace")
    asked = build_pull_request_prompt(style, redact(text)[:DIFF], redact(diff)[:DIFF])
    draft = clean_message(_ask_model(git, flags, asked, "pull request", Role.FAST)) or _draft_without_model(
        git, fork, style
    )
    place = out or Path(git.root, git.run_text("rev-parse", "--git-path", "patchwright-pr.md"))
    try:
        place.write_text(redact(draft).rstrip() + "\n", "utf-8")
    except OSError as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {str(place)!r}: {error.strerror}") from None
    print(sanitize_text(str(place)))
    return int(Exit.DONE)


def _draft_without_model(git: Git, fork: str, style: Style) -> str:
    """Draft from the commit messages and the changed symbols, without a model."""
    subjects = git.run_text("log", "--reverse", "--no-merges", "--format=%s", f"{fork}..HEAD").splitlines()
    change = read_committed_change(git, fork, "HEAD")
    own = compose_message(change, style, find_ticket(read_branch(git.root)))
    title = subjects[0] if len(subjects) == 1 else own.partition("\n")[0]
    template = next((path for each in _TEMPLATES if (path := git.root / each).is_file()), None)
    parts = [title, "## Commits\n\n" + "\n".join(f"- {each}" for each in subjects)]
    if listed := own.partition("\n\n")[2]:
        parts.append(f"## Files\n\n{listed.strip()}")
    if template is not None:
        parts.append(template.read_text("utf-8", "replace").strip())
    return "\n\n".join(parts)


_TEMPLATES = (
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    ".gitlab/merge_request_templates/Default.md",
)


def _ask_model(git: Git, flags: Mapping[str, Any], prompt: str, purpose: str, role: Role) -> str:
    """Return a model's answer; "" if no model is set up or it fails (which is reported): the fallback is used then."""
    home = Home.from_environment()
    settings = load_settings(home, git.root, flags).session
    models = ModelSelection(settings=settings, env=os.environ, cache=home.cache)

    async def request_answer() -> str:
        side = models.create_side_calls()
        model = side.roles.get_writer(role)
        if model is None:
            return ""
        try:
            return await side.request_text(
                prompt, purpose=purpose, role=role, patience=PATIENCE, max_output=LONGEST
            )
        finally:
            await model.close()
            await side.roles.close()

    try:
        return asyncio.run(request_answer())
    except UserError as error:
        write_user_error(error)
        return ""


@contextmanager
def _select_change(
    git: Git, target: str, *, base: str, cached: bool
) -> Iterator[tuple[Git, tuple[str, str] | None]]:
    """Return (git, two commits), or (git, None) if the index is to be reviewed."""
    if sum(map(bool, (target, base, cached))) > 1:
        raise UserError(Fault.USAGE, "a commit, --base and --staged: give one of them")
    if target:
        chosen = _resolve_commit(git, target)
        parent = git.run_text("rev-parse", "--verify", "--quiet", f"{chosen}^", ok=(0, 1, 128))
        yield git, (parent, chosen)
    elif base:
        start = _resolve_commit(git, base)
        yield (
            git,
            (git.run_text("merge-base", start, "HEAD", ok=(0, 1)) or start, _resolve_commit(git, "HEAD")),
        )
    elif cached:
        yield git, None
    else:
        with tempfile.TemporaryDirectory(prefix="patchwright-review-") as scratch:
            yield _with_work_tree(git, Path(scratch)), None


def _with_work_tree(git: Git, scratch: Path) -> Git:
    from tools.git.scratch_index import stage_work_tree

    aside = stage_work_tree(git, scratch, TrustStore(Home.from_environment().config).create_check(git.root))
    if aside.warning:
        print(sanitize_text(f"patchwright: {aside.warning}"), file=sys.stderr)
    return aside.git


def _resolve_commit(git: Git, text: str) -> str:
    try:
        return git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    except GitFailed:
        raise UserError(
            Fault.USAGE, f"no commit {text!r} here", "Name a commit, a branch or a tag."
        ) from None


def _find_default_base(git: Git) -> str:
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


def _format_finding(finding: Finding) -> str:
    place = f"{quote_name(finding.path)}:{finding.line}" if finding.line else quote_name(finding.path)
    return f"{place}: {finding.severity}: {finding.check}: {finding.message}"
