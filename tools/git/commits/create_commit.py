"""Create a commit object from an index, with the hooks, the signature and the identity that `git commit` would use.

`git commit` itself reads HEAD anew, after the tree was built from an earlier one: a commit made in between would be
reverted. Here the parent is the commit that was read, and no branch is moved yet.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sandbox.fs.regular_file import GIT_FILE, read_regular_file
from sandbox.helpers.git_runner import GitOutput
from sandbox.lazy_dataclass import dataclass
from tools.core.action import ToolFailure
from tools.core.text import strip_terminal_codes
from tools.core.untrusted_output import escape_lookalikes
from tools.git.broker import Broker, Hooks
from tools.git.git_failures import explain_failure

KEPT = "Nothing was committed, and your changes stay in the files."


class HookRefused(Exception):
    """A hook of the repository refused the commit. Its text is the hook's output."""

    def __init__(self, hook: str, output: str) -> None:
        super().__init__(output)
        self.hook = hook


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedCommit:
    """A commit object that no branch has yet. outputs: of the hooks that ran"""

    sha: str
    text: str
    outputs: tuple[GitOutput, ...]

    @property
    def subject(self) -> str:
        """The first paragraph of the message, on one line."""
        return " ".join(self.text.partition("\n\n")[0].split("\n")).strip()


def create_commit(
    broker: Broker, hooks: Hooks, parent: str, text: str, index: Path, author: str
) -> CreatedCommit:
    """Create a commit of an index; hooks may change the index and the text. Raises HookRefused, ToolFailure.

    parent: the commit before it, "" for none; author: as `git var GIT_AUTHOR_IDENT` prints it
    """
    broker.refuse_changed_definitions()
    extra = _build_author_environment(author)
    outputs: list[GitOutput] = []

    def run_hook(name: str, *arguments: str) -> bool:
        output = hooks.run_hook(name, *arguments, index=index, extra=extra)
        if output is None:
            return False
        outputs.append(output)
        if output.returncode:
            raise HookRefused(name, format_output(output))
        return True

    run_hook("pre-commit")
    text = _run_message_hooks(broker, hooks, text, run_hook)
    tree = broker.run("write-tree", "--missing-ok", index=index).stdout.decode().strip()
    if outputs and parent and tree == broker.run("rev-parse", f"{parent}^{{tree}}").stdout.decode().strip():
        raise ToolFailure(f"git_commit: a hook of this repository took all changes out of the commit. {KEPT}")
    signs = broker.signs_commits()
    options = (*(("-S",) if signs else ()), *(("-p", parent) if parent else ()))
    output = broker.run_trusted(
        "commit-tree",
        *options,
        tree,
        stdin=text.encode("utf-8", "surrogateescape"),
        extra=extra,
        confined=not signs,
    )
    if output.returncode:
        raise ToolFailure(f"{explain_failure(broker.root, 'commit', output)}\n{KEPT}")
    return CreatedCommit(sha=output.stdout.decode().strip(), text=text, outputs=tuple(outputs))


def format_output(output: GitOutput) -> str:
    """Return what a hook printed, safe to show."""
    text = f"{output.stdout.decode('utf-8', 'replace')}\n{output.stderr}"
    return escape_lookalikes(strip_terminal_codes(text).strip())


def _run_message_hooks(broker: Broker, hooks: Hooks, text: str, run_hook: Callable[..., bool]) -> str:
    """Let the hooks for messages see and change the text, in the file that git gives them."""
    text = _clean_up(text)
    if not any(hooks.has_hook(each) for each in ("prepare-commit-msg", "commit-msg", "post-commit")):
        return text
    file = broker.folder / "COMMIT_EDITMSG"
    file.unlink(missing_ok=True)  # never written through a link
    file.write_text(text, "utf-8", "surrogateescape")
    name = os.path.relpath(file, broker.root) if file.is_relative_to(broker.root) else str(file)
    ran = run_hook("prepare-commit-msg", name, "message")
    if not run_hook("commit-msg", name) and not ran:
        return text
    text = _clean_up((read_regular_file(file, GIT_FILE) or b"").decode("utf-8", "surrogateescape"))
    if not text.strip():
        raise ToolFailure(f"git_commit: a hook of this repository emptied the message. {KEPT}")
    return text


def _clean_up(text: str) -> str:
    """Clean a message up as `--cleanup=whitespace` does: a line that begins with "#" stays."""
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join(kept).strip("\n") + "\n"


def _build_author_environment(author: str) -> dict[str, str]:
    """Return the variables by which hooks see the author, and the commit gets the same date."""
    person, _, date = author.rpartition("> ")
    name, _, email = person.partition(" <")
    return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": f"@{date}"}
