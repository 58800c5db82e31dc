"""Ignore rules at one moment: copies of the workspace's `.gitignore` files, judged by git away from the workspace.

Git never opens a file of the workspace for it, so neither a pipe nor a device under that name stops it, and rules
of the past are judged in the same way as those of the present.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path, PurePosixPath

from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS, UnsafeFileError, read_entry, read_regular_file
from sandbox.fs.repository import find_git_dir, find_git_folders, find_root
from sandbox.fs.stamped_cache import StampedCache
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitOutput, GitRunner
from sandbox.lazy_dataclass import dataclass

RULES = ".gitignore"

Rules = Mapping[str, bytes]
"""Content of `.gitignore` files, by path relative to the workspace."""


def read_rules(path: str) -> bytes:
    """Return the content of a `.gitignore`; nothing for one that git would not read either."""
    try:
        return read_entry(path, SETTINGS)
    except (FileNotFoundError, UnsafeFileError):  # gone, a link, a pipe, too large: no rules
        return b""


def list_outer_rule_files(root: Path) -> tuple[Path, ...]:
    """Return the files outside the workspace that may hold rules for it: the user's list for all repositories, the one
    of this repository, and `.gitignore` of the folders around a workspace that is a part of its repository."""
    folders, repository = find_git_folders(root), find_root(root)
    if folders is None or repository is None:
        return ()
    lists = (Path(read_core_settings(root, folders[1])["core.excludesfile"]), folders[1] / "info" / "exclude")
    return (*lists, *(repository / each / RULES for each in _list_outer_folders(root, repository)))


def _list_outer_folders(root: Path, repository: Path) -> list[str]:
    """Return the folders of a repository that contain the workspace, relative to the repository."""
    inner = os.path.relpath(os.path.realpath(root), os.path.realpath(repository))
    return [] if inner == "." else [each.as_posix() for each in PurePosixPath(inner).parents]


def read_core_settings(root: Path, shared: Path) -> dict[str, str]:
    """Return git's settings of ignored and converted files in this repository, and its format of ids, by key.

    Cached while its configuration is the same.
    """
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "git"
    configs = [Path.home() / ".gitconfig", home / "config", shared / "config", shared / "config.worktree"]
    configs += [Path(named)] if (named := os.environ.get("GIT_CONFIG_GLOBAL")) else []

    def ask_git() -> tuple[dict[str, str], list[str]]:
        keys = r"^(core\.(excludesfile|ignorecase|attributesfile|autocrlf)|extensions\.objectformat)$"
        asked = ("config", "-z", "--type=path", "--get-regexp", keys)
        done = GitRunner(root, {**os.environ, "LC_ALL": "C"}, workspace=root).run(*asked)
        pairs = (field.partition("\n") for field in done.split_fields())
        found = {key: value for key, _, value in pairs}  # the last one holds
        usual = {"core.excludesfile": str(home / "ignore"), "core.attributesfile": str(home / "attributes")}
        return {**usual, **found}, list(map(str, configs))

    return _SETTINGS.get(f"{root}\0{named}\0{home}", ask_git)


_SETTINGS = StampedCache[dict[str, str]]()


@dataclass(frozen=True, slots=True, kw_only=True)
class _OuterRules:
    """Rules from outside the workspace.

    inner: the workspace's place in its repository
    files: content of the `.gitignore` files around it, by path in the repository
    exclude: the user's lists, those that take precedence last
    """

    inner: str = "."
    files: Rules = field(default_factory=dict)
    exclude: bytes = b""
    ignores_case: str = "false"


_LISTS = 2
"""Outer rule files that are a list of the user's; the others are `.gitignore` files."""


class IgnoreRules:
    """Judge of paths by ignore rules. Its verdicts are those of git in the real tree.

    root: the workspace; None: without rules from outside the workspace
    store: a git folder of Patchwright's own
    """

    def __init__(self, root: Path | None, store: Path) -> None:
        self._root = root
        self._store = store
        self._judged: tuple[_OuterRules, bool] = (_OuterRules(), False)

    def find_ignored(self, paths: Iterable[str], rules: Rules) -> set[str]:
        """Return those of the paths that a rule ignores. A folder's path ends with a slash; none needs to exist."""
        asked = set(paths)
        if not asked:
            return set()
        found = self._ask_about(asked, rules, made=())
        # With the slash, git also tries the rules on an entry without a name in the folder: `X/*` and `*` match it.
        folders = {path for path in found if path.endswith("/")}
        if folders:
            certain = self._ask_about({path.rstrip("/") for path in folders}, rules, made=folders)
            found = found - folders | {f"{path}/" for path in certain}
        return found

    def _ask_about(self, paths: Collection[str], rules: Rules, *, made: Collection[str]) -> set[str]:
        """Return the paths that git calls ignored. made: folders that exist, so that rules for folders hold for them"""
        # "./", since a leading colon would be read as pathspec magic.
        question = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        ask = ("check-ignore", "-z", "--stdin", "--no-index")
        places = {"GIT_DIR": str(self._store)}
        found = self._ask_git(*ask, rules=rules, places=places, stdin=question, made=made)
        return {name.removeprefix("./") for name in found}

    def list_tracked_ignored(self, rules: Rules) -> set[str]:
        """Return files under version control that a rule ignores."""
        repository = find_root(self._root) if self._root else None
        folder = find_git_dir(repository) if repository else None
        if folder is None:
            return set()
        listed = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        return self._ask_git(*listed, rules=rules, places={"GIT_DIR": str(folder)})

    def _ask_git(
        self,
        *arguments: str,
        rules: Rules,
        places: Mapping[str, str],
        stdin: bytes = b"",
        made: Collection[str] = (),
    ) -> set[str]:
        """Run git in a tree that holds nothing but the rules and the made folders."""
        with tempfile.TemporaryDirectory(prefix="patchwright-rules-") as folder:
            tree, exclude = Path(folder, "tree"), Path(folder, "exclude")
            outer = self._read_outer_rules()
            workspace = tree / outer.inner
            workspace.mkdir(parents=True)
            _write_rules(tree, outer.files)
            _write_rules(workspace, rules)
            for path in made:
                with suppress(OSError):  # its path is too long here: then it is judged as no folder
                    (workspace / path).mkdir(parents=True, exist_ok=True)
            exclude.write_bytes(outer.exclude)
            options = ("-c", f"core.excludesFile={exclude}", "-c", f"core.ignoreCase={outer.ignores_case}")
            places = {**places, "GIT_WORK_TREE": str(tree)}
            done = self._run_git(workspace, *options, *arguments, places=places, stdin=stdin)
        return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}

    def _read_outer_rules(self) -> _OuterRules:
        """Return the rules from outside the workspace; those of folders around it only if they leave it visible."""
        repository = find_root(self._root) if self._root else None
        folders = find_git_folders(self._root) if self._root else None
        if self._root is None or repository is None or folders is None:
            return _OuterRules()
        paths = list_outer_rule_files(self._root)
        lists, around = paths[:_LISTS], paths[_LISTS:]
        outer = _OuterRules(
            inner=os.path.relpath(os.path.realpath(self._root), os.path.realpath(repository)),
            files={str(path.relative_to(repository)): content for path in around if (content := _read(path))},
            exclude=b"\n".join(map(_read, lists)),
            ignores_case=read_core_settings(self._root, folders[1]).get("core.ignorecase", "false"),
        )
        return replace(outer, files={}) if self._is_hidden(outer) else outer

    def _is_hidden(self, outer: _OuterRules) -> bool:
        """Whether the rules around the workspace ignore the whole of it."""
        if not outer.files:
            return False
        if outer != self._judged[0]:
            with tempfile.TemporaryDirectory(prefix="patchwright-rules-") as folder:
                tree = Path(folder)
                (tree / outer.inner).mkdir(parents=True)
                _write_rules(tree, outer.files)
                places = {"GIT_DIR": str(self._store), "GIT_WORK_TREE": folder}
                done = self._run_git(tree, "check-ignore", "-q", "--no-index", outer.inner, places=places)
            self._judged = outer, done.returncode == 0
        return self._judged[1]

    def _run_git(
        self, folder: Path, *arguments: str, places: Mapping[str, str], stdin: bytes = b""
    ) -> GitOutput:
        environment = {"LC_ALL": "C", **NO_USER_SETTINGS, **places}
        try:
            done = GitRunner(folder, environment, workspace=self._root).run(*arguments, stdin=stdin)
        except UserError as error:
            message = f"{error.message}, and undo needs it to know which files are ignored"
            raise UserError(error.fault, message, error.hint) from None
        if done.returncode not in (0, 1):  # 1: none of the paths is ignored
            message = f"git could not read the ignore rules of {str(self._root)!r}: {done.stderr.strip()}"
            raise UserError(Fault.CONFIGURATION, message)
        return done


def _read(path: Path) -> bytes:
    """Return a file of rules; nothing for one that git could not read either."""
    try:
        return read_regular_file(path, SETTINGS) or b""
    except UnsafeFileError:
        return b""


def _write_rules(folder: Path, rules: Rules) -> None:
    for path, content in rules.items():
        if content:
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
