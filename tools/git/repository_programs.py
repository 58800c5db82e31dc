"""Programs that a repository configures git to run, outside the sandbox, and how they are disabled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sandbox.fs.regular_file import SOURCE, UnsafeFileError, read_regular_file, read_start
from sandbox.helpers.git_runner import GitOutput
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.trust import Definition
from tools.git.hook_files import COMMIT_HOOKS, MOST_FILES, list_hook_files, read_as_script

# husky points core.hooksPath to generated launchers in `.husky/_`; the hooks are one folder up.
_HUSKY = "_"

_PROGRAMS_OF_HOOKS = compile_lazily(
    rb"\b(pre-commit|prek|lefthook|husky|overcommit|lint-staged|nano-staged|commitlint|simple-git-hooks|yorkie|cog|hk"
    rb"|captainhook|grumphp|git-cliff|commitizen|rusty-hook)\b"
)
"""Managers by name, in a hook that the user has for all repositories: what it runs is the repository's choice."""


PART = " (the fields for hooks)"
"""End of what a definition runs, where it is a part of a manifest only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One line of git's configuration. own: from the repository, not from the user or the system."""

    key: str
    value: str
    own: bool


class Repository(Protocol):
    """A repository whose configuration can be read.

    shared: its git folder, which all of its work trees share
    """

    root: Path
    shared: Path

    def run_raw(self, *arguments: str) -> GitOutput:
        """Run a git command and return its output as bytes."""
        ...

    def read_setting(self, key: str) -> str:
        """Return the value of a setting, "" if there is none."""
        ...


def read_settings(repository: Repository) -> list[Setting]:
    """Return all of git's configuration here; later lines override earlier ones."""
    fields = repository.run_raw("config", "--list", "-z", "--show-scope", "--includes").split_fields()
    found = []
    for scope, line in zip(fields[::2], fields[1::2], strict=True):
        key, _, value = line.partition("\n")
        found.append(Setting(key=key, value=value, own=scope in ("local", "worktree")))
    return found


def list_definitions(repository: Repository, configuration: Sequence[Setting]) -> tuple[Definition, ...]:
    """List the programs that this repository defines: its own settings that name programs, and commit hooks."""
    found = {
        each.key: Definition(
            kind="setting", name=each.key, runs=each.value, digest=_compute_digest(each.value.encode())
        )
        for each in configuration
        if each.own and each.value and _find_replacement(each.key) is not None
    }
    return (*found.values(), *_list_hook_definitions(repository, configuration))


def build_replacements(configuration: Sequence[Setting], untrusted: Sequence[Definition]) -> dict[str, str]:
    """Build replacements for untrusted settings: the user's own value, else git's default."""
    names = [each.name for each in untrusted if each.kind == "setting"]
    found: dict[str, str] = {}
    for name in names:
        found[name] = _find_user_value(configuration, name, _find_replacement(name) or "")
        driver, _, _ = name.rpartition(".")
        if name.startswith("filter.") and not found[name]:  # a filter without commands must not be required
            found[f"{driver}.required"] = "false"
        if name.startswith("hook."):
            found[f"{driver}.enabled"] = "false"
        if name.startswith("gpg."):  # signing needs that program, so commits are not signed
            found["commit.gpgsign"] = _find_user_value(configuration, "commit.gpgsign", "false")
            found["gpg.format"] = _find_user_value(configuration, "gpg.format", "openpgp")
    return found


def list_filter_names(untrusted: Sequence[Definition]) -> set[str]:
    """Return the names of the disabled filters."""
    return {each.name[7:].rpartition(".")[0] for each in untrusted if each.name.startswith("filter.")}


def find_setting(configuration: Sequence[Setting], key: str) -> str | None:
    """Return the value that counts of a key in lower case, "" if it is not set; None where only git can say what is
    meant: `~/…`, `%(prefix)/…`, `:(optional)…`, a key without a value."""
    values = [each.value for each in configuration if each.key == key]
    if not values:
        return ""
    return values[-1] if values[-1] and values[-1][0] not in "~%:" else None


def find_hooks_folder(repository: Repository, configuration: Sequence[Setting] | None = None) -> Path:
    """Return the folder in which git looks for hooks. configuration: read before; git is asked if it is not given"""
    configured = None if configuration is None else find_setting(configuration, "core.hookspath")
    if configured is None:
        configured = repository.read_setting("core.hooksPath")
    return repository.root / configured if configured else repository.shared / "hooks"


def list_active_hooks(repository: Repository, configuration: Sequence[Setting] | None = None) -> list[Path]:
    """Return the hooks that a commit here would run."""
    folder = find_hooks_folder(repository, configuration)
    return [path for name in COMMIT_HOOKS if os.access(path := folder / name, os.X_OK) and path.is_file()]


def names_interpreter(hook: Path) -> bool:
    """Return whether the system can start a hook; git gives any other to the shell."""
    start = read_start(hook, 4)
    # git runs what it cannot read, and the launcher says what happened
    return start is None or start.startswith((b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"))


def find_scripts_folder(folder: Path) -> Path:
    """Return the folder of the scripts that hooks run: the hooks' own, or its parent if they are launchers."""
    resolved = folder.resolve()
    return resolved.parent if resolved.name == _HUSKY else resolved


def format_warning(untrusted: Sequence[Definition]) -> str:
    """Return one line on the disabled definitions and how to enable them, "" if there are none."""
    if not untrusted:
        return ""
    names = ", ".join(dict.fromkeys(f"{each.kind} {each.name}" for each in untrusted))
    return f"not run, since this repository is not trusted: {names} (see and trust them: patchwright trust)"


# Settings by which our git commands would start a program, and their replacements. Others that name programs
# (pagers, editors, aliases, diff and merge drivers, transports) are disabled by options for every repository.
_RUN = (
    (compile_lazily(r"filter\..+\.(clean|smudge|process)"), ""),
    (compile_lazily(r"gpg\.(openpgp\.)?program"), "gpg"),
    (compile_lazily(r"gpg\.x509\.program"), "gpgsm"),
    (compile_lazily(r"gpg\.ssh\.program"), "ssh-keygen"),
    (compile_lazily(r"gpg\.ssh\.defaultkeycommand"), ""),
    (compile_lazily(r"hook\..+\.command"), ""),
)


def _find_replacement(key: str) -> str | None:
    return next((value for pattern, value in _RUN if pattern.fullmatch(key)), None)


def _find_user_value(configuration: Sequence[Setting], key: str, default: str) -> str:
    values = [each.value for each in configuration if each.key == key and not each.own]
    return values[-1] if values else default


def _list_hook_definitions(repository: Repository, configuration: Sequence[Setting]) -> Iterator[Definition]:
    named = [each for each in configuration if each.key == "core.hookspath"]
    folder = find_hooks_folder(repository, configuration)
    root = repository.root.resolve()
    scripts = find_scripts_folder(folder)
    inside = scripts.is_relative_to(root) or scripts.is_relative_to(repository.shared.resolve())
    hooks = list_active_hooks(repository, configuration)
    contents = [_read_hook_content(path) for path in hooks]
    if named and not named[-1].own and not inside:  # the user's own hooks, for all their repositories
        if not any(map(_PROGRAMS_OF_HOOKS.search, contents)):
            return
    else:
        for path, content in zip(hooks, contents, strict=True):
            yield Definition(kind="hook", name=path.name, runs=str(path), digest=_compute_digest(content))
    if not hooks:
        return
    contents = [read_as_script(path.name, content) for path, content in zip(hooks, contents, strict=True)]
    listed = {hook.resolve() for hook in hooks}
    if scripts.is_relative_to(repository.shared.resolve()):  # git's own samples: it never runs them
        beside = [each for each in sorted(scripts.rglob("*")) if each.suffix != ".sample" and each.is_file()]
        contents += [_read_hook_content(path) for path in beside if path.resolve() not in listed]
    elif scripts.is_relative_to(root) and scripts != root:
        beside = sorted(each for each in scripts.rglob("*") if each.is_file())
    else:
        beside = []
    for path in [each for each in beside if each.resolve() not in listed][:MOST_FILES]:
        listed.add(path.resolve())
        name = os.path.relpath(path, root)
        digest = _compute_digest(_read_hook_content(path))
        yield Definition(kind="hook", name=name, runs=str(path), digest=digest)
    for file in list_hook_files(root, contents):
        if (root / file.name).resolve() not in listed:
            runs = str(root / file.name) + (PART if file.is_part else "")
            yield Definition(kind="hook", name=file.name, runs=runs, digest=file.digest)


def _read_hook_content(path: Path) -> bytes:
    try:
        return read_regular_file(path, SOURCE) or os.fsencode(path)
    except UnsafeFileError:  # not readable: use its identity instead
        return os.fsencode(path)


def _compute_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def build_git_environment(replaced: Mapping[str, str]) -> dict[str, str]:
    """Encode settings as GIT_CONFIG_* variables, after the user's: a name may hold any character but NUL."""
    try:
        count = int(os.environ.get("GIT_CONFIG_COUNT", "0"))
    except ValueError:  # git itself reports this error
        return {}
    found = {"GIT_CONFIG_COUNT": str(count + len(replaced))} if replaced else {}
    for number, (key, value) in enumerate(replaced.items(), count):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found
