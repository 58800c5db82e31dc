"""Table of the files and folders that programs run or obey by themselves: editors, hooks, CI, shells, agents.

Not in it: files that people edit as ordinary code and run by name (`Makefile`, `package.json`, `conftest.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfRun:
    """What one kind of program acts on, in whichever folder it is started.

    folders: names of folders; everything in them counts
    files: names of files, `*` for any characters
    inside: `folder/name`: entries of a folder whose other entries are harmless
    """

    by: str
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


SELF_RUN = (
    SelfRun(by="Patchwright", folders=(".patchwright",), files=("patchwright.toml",)),
    SelfRun(
        by="editors",
        folders=(".vscode", ".idea", ".fleet", ".zed", ".devcontainer"),
        files=(
            *("*.code-workspace", "*.sublime-project", ".devcontainer.json"),
            *(".nvim.lua", ".nvimrc", ".exrc", ".dir-locals.el", ".dir-locals-2.el"),
        ),
    ),
    SelfRun(
        by="git hooks",
        folders=(".husky", ".githooks", ".lefthook"),
        files=(
            *("lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json"),
            *(".lefthook*.yml", ".lefthook*.yaml", ".lefthook*.toml", ".lefthook*.json"),
            *(".pre-commit-config.yaml", ".pre-commit-config.yml", ".overcommit.yml"),
        ),
    ),
    SelfRun(
        by="shells and version managers",
        folders=(".mise", ".rtx"),
        files=(
            *(".envrc", "mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", ".rtx.toml"),
            *(".autoenv", ".autoenv.zsh"),
        ),
    ),
    SelfRun(
        by="package managers",
        files=(".npmrc", ".yarnrc", ".yarnrc.yml"),
        inside=(".bundle/config",),
    ),
    SelfRun(
        by="coding agents",
        folders=(".opencode",),
        files=(".mcp.json", "opencode.json", "opencode.jsonc"),
        inside=(
            *(".claude/settings*.json", ".claude/hooks"),
            *(".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks", ".cursor/environment.json"),
            *(".gemini/settings.json", ".gemini/hooks", ".codex/config.toml", ".codex/hooks.json"),
            *(".kiro/settings", ".kiro/hooks", ".roo/mcp.json", ".windsurf/hooks.json", ".amazonq/mcp.json"),
        ),
    ),
    SelfRun(
        by="continuous integration",
        folders=(
            *(".github", ".circleci", ".gitea", ".forgejo", ".woodpecker", ".buildkite", ".teamcity"),
            *(".semaphore", ".builds", ".tekton", ".azure-pipelines"),
        ),
        files=(
            *(".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker*.yml", ".woodpecker*.yaml"),
            *("azure-pipelines*.yml", "azure-pipelines*.yaml", "bitbucket-pipelines.yml", "Jenkinsfile"),
            *("appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".cirrus.star", ".build.yml"),
            *("cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "codemagic.yaml"),
        ),
    ),
)

FOLDERS = tuple(name for each in SELF_RUN for name in each.folders)
FILES = tuple(name for each in SELF_RUN for name in each.files if "*" not in name)
"""Names without a wildcard: these can be named while they are missing."""

_PATTERNS = tuple(name for each in SELF_RUN for name in each.files if "*" in name)
_ENDINGS = tuple({pattern.rpartition("*")[2] for pattern in _PATTERNS})
_WILD = re.compile("|".join(re.escape(each).replace(r"\*", ".*") for each in _PATTERNS), re.DOTALL)
_EXACT = frozenset((*FOLDERS, *FILES))
_FOLDED = frozenset(name.casefold() for name in _EXACT)
_FOLDED_FOLDERS = frozenset(name.casefold() for name in FOLDERS)

_INSIDE: dict[str, re.Pattern[str]] = {
    parent: re.compile(
        "|".join(
            re.escape(path.partition("/")[2]).replace(r"\*", ".*")
            for each in SELF_RUN
            for path in each.inside
            if path.partition("/")[0] == parent
        ),
        re.DOTALL,
    )
    for parent in dict.fromkeys(path.partition("/")[0] for each in SELF_RUN for path in each.inside)
}

INSIDE_FILES = tuple(path for each in SELF_RUN for path in each.inside if "*" not in path)


def is_self_run(name: str, folder: str = "") -> bool:
    """Whether an entry with this name is in the table. folder: name of the folder that holds it

    Called for every entry of a workspace: set look-ups first, patterns only for names with their endings.
    """
    if name in _EXACT or (name.endswith(_ENDINGS) and _WILD.fullmatch(name) is not None):
        return True
    return folder in _INSIDE and _INSIDE[folder].fullmatch(name) is not None


def find_self_run_part(parts: Sequence[str]) -> str:
    """Return the part of a path (`folder/name` for an entry inside) that is in the table, else "".

    In any case, because some file systems take `.GitHub` for `.github`.
    """
    folded = [part.casefold() for part in parts]
    for at, name in enumerate(folded):
        is_last = at == len(folded) - 1
        if name in _FOLDED_FOLDERS or (is_last and (name in _FOLDED or _WILD.fullmatch(name))):
            return parts[at]
        if at and folded[at - 1] in _INSIDE and _INSIDE[folded[at - 1]].fullmatch(name):
            return f"{parts[at - 1]}/{parts[at]}"
    return ""


def list_top_entries(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the entries at the top of a workspace that are in the table. names: of all entries there

    A symbolic link that leads to a folder with such entries counts itself: what is behind it may be anyone's.
    """
    for name in names:
        if is_self_run(name):
            yield root / name
        elif name in _INSIDE:
            folder = root / name
            if folder.is_symlink():
                yield folder
                continue
            try:
                inner = os.listdir(folder)
            except OSError:  # a file, or not readable
                continue
            yield from (folder / each for each in inner if is_self_run(each, name))
