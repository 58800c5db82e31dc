"""Review of a change: the findings of the checks, and a model's opinion if one is set up."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.model.routing.roles import Role
from cli.commands.git.model_text import ask_model, read_diff_excerpt
from cli.hooks.confinement import choose_confinement
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import TrustStore
from sandbox.sanitize import quote_name, sanitize_text
from tools.git.git_change import find_empty_tree, read_committed_change, read_staged_change
from tools.git.git_process import Git, GitFailed
from tools.git.messages.message_prompts import build_review_prompt
from tools.git.messages.message_style import Style
from tools.git.messages.message_summary import compose_message
from tools.lint.checks import run_checks
from tools.lint.checks.finding import Finding


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
    found = check_change(folder, target, base=base, cached=cached, flags=flags)
    if found is None:
        return None
    review, asked = found
    return replace(review, opinion=ask_model(Git.from_folder(folder), flags, asked, "review", Role.JUDGE))


def check_change(
    folder: Path,
    target: str = "",
    *,
    base: str = "",
    cached: bool = False,
    flags: Mapping[str, Any] | None = None,
    runs_linters: bool = True,
) -> tuple[Review, str] | None:
    """Return (review without an opinion, prompt for a model); None if there is no change.

    flags: options of the command line, for the sandbox of the project's linters
    """
    git = Git.from_folder(folder)
    with _select_change(git, target, base=base, cached=cached) as (its, sides):
        change = read_staged_change(its) if sides is None else read_committed_change(its, *sides)
        if not change.files:
            return None
        confined = (lambda: choose_confinement(its.root, flags)) if runs_linters else None
        found = run_checks(change, confined=confined)
        summary = compose_message(change, Style()).strip()
        asked = _build_review_question(
            its, found, *((sides[0] or find_empty_tree(its), sides[1]) if sides else ("--cached",))
        )
    return Review(summary=summary, findings=found, opinion=""), asked


def ask_review_opinion(git: Git, flags: Mapping[str, Any], found: Sequence[Finding]) -> str:
    """Ask a model for its opinion of the staged changes, given the findings of the checks; "" without a model."""
    return ask_model(git, flags, _build_review_question(git, found, "--cached"), "review", Role.JUDGE)


def _build_review_question(git: Git, found: Sequence[Finding], *sides: str) -> str:
    return build_review_prompt(read_diff_excerpt(git, *sides), "\n".join(map(_format_finding, found)))


@contextmanager
def _select_change(
    git: Git, target: str, *, base: str, cached: bool
) -> Iterator[tuple[Git, tuple[str, str] | None]]:
    """Return (git, two commits), or (git, None) if the index is to be reviewed."""
    if sum(map(bool, (target, base, cached))) > 1:
        raise UserError(Fault.USAGE, "give only one of COMMIT, --base and --staged")
    if target:
        chosen = resolve_commit(git, target)
        parent = git.run_text("rev-parse", "--verify", "--quiet", f"{chosen}^", ok=(0, 1, 128))
        yield git, (parent, chosen)
    elif base:
        start = resolve_commit(git, base)
        yield (
            git,
            (git.run_text("merge-base", start, "HEAD", ok=(0, 1)) or start, resolve_commit(git, "HEAD")),
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


def resolve_commit(git: Git, text: str) -> str:
    try:
        return git.run_text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    except GitFailed:
        raise UserError(
            Fault.USAGE, f"no commit {text!r} here", "Name a commit, a branch or a tag."
        ) from None


def _format_finding(finding: Finding) -> str:
    place = f"{quote_name(finding.path)}:{finding.line}" if finding.line else quote_name(finding.path)
    return f"{place}: {finding.severity}: {finding.check}: {finding.message}"
