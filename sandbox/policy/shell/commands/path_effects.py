"""Classification of a command's paths: inside the workspace, outside, protected, or unknown."""

from __future__ import annotations

import posixpath  # bash has POSIX paths
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from sandbox.fs.installation import is_own_file
from sandbox.fs.protected_paths import GIT, OWN
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.shell.parsing.expansion import Arg
from sandbox.policy.shell.parsing.syntax import parse_word_set

HARMLESS_DEVICES = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd/1", "/dev/fd/2")
)
"""Devices to which writing has no lasting effect. (Other descriptors were judged where they were opened.)"""

_UNSTABLE = ("/proc", "/dev", "/sys")
"""Folders with links that differ between processes, so that they cannot be resolved here."""

_PROTECTED = frozenset((GIT, "git~1", *OWN))
"""Protected names on case-insensitive file systems; "git~1" is the short name of .git on some."""

_IGNORED = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"))
"""Characters that some file systems ignore in names."""

MAX_FOLDERS = 8
"""Possible working directories of a command after several `cd`s, before it counts as unknown."""

NOWHERE = Effect(kind="none")


_PLAIN_GLOB = compile_lazily(r"(?:~(?=/))?[\w./*?\[\]!^ @:+,=-]+")
"""A glob without quotes, variables and other patterns of bash."""

_WILD = compile_lazily(r"[*?\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathClassifier:
    """Classifier of paths.

    root: the workspace, links resolved
    folders: possible working directories of the command; None: any
    home: of the user
    """

    root: str
    folders: tuple[str | None, ...]
    home: str

    def classify_read(self, arg: Arg) -> Effect:
        """Return the effect of reading a path. An unknown one is harmless only where the kernel hides secrets."""
        text = arg.text
        if arg.source.startswith((">(", "<(")):
            return Effect(kind="read")  # a pipe from a command that is judged separately
        if text is None:
            return Effect(kind="read", is_vague=True, glob=self._resolve_glob(arg))
        if None in self.folders and not text.startswith("/"):
            return Effect(kind="read", reason="in a folder that is not known", is_vague=True)
        bases = [each for each in self.folders if each is not None] or ["/"]
        found = [self._resolve_path(text, each) for each in bases]
        if any(map(_shows_a_process, (*found, *(posixpath.join(each, text) for each in bases)))):
            return Effect(kind="read", reason="what belongs to a process", is_vague=True)
        return self._build_effect("read", found)

    def _resolve_glob(self, arg: Arg) -> str:
        """Return a pattern of names in one folder with its full path, "" if it may match entries elsewhere."""
        folder, _, name = arg.source.rpartition("/")
        if arg.shape != "glob" or _PLAIN_GLOB.fullmatch(arg.source) is None or len(self.folders) != 1:
            return ""
        base = self.folders[0]
        if _WILD.search(folder) or (base is None and not arg.source.startswith(("/", "~"))):
            return ""
        place = self.home + folder[1:] if folder.startswith("~") else folder
        place = place or ("/" if arg.source.startswith("/") else ".")
        return posixpath.join(self._resolve_path(place, base or "/"), name)

    def classify_write(self, arg: Arg) -> Effect:
        """Return the effect of writing to a path, links followed."""
        if arg.source.startswith((">(", "<(")):
            return NOWHERE  # a pipe to a command that is judged separately
        if arg.text is None:
            return Effect(kind="unknown", reason=f"writes to {arg.source}, which is not known before it runs")
        if arg.text in HARMLESS_DEVICES:
            return NOWHERE
        return self._classify_change(arg.text, follow=True)

    def classify_removal(self, arg: Arg) -> Effect:
        """Return the effect of removing or replacing a path. A link is not followed."""
        if arg.text is not None:
            return self._classify_change(arg.text, follow=False)
        if arg.shape != "glob" or "/" in arg.source[len(arg.prefix) :] or "$" in arg.source:
            return Effect(kind="unknown", reason=f"changes {arg.source}, which is not known before it runs")
        folder = arg.prefix[: arg.prefix.rfind("/") + 1]
        return self._classify_change(f"{folder}.", follow=True)

    def is_broad_removal(self, arg: Arg) -> bool:
        """Whether its recursive removal deletes the whole workspace, or more."""
        text = arg.text
        if text is None:
            folder, _, name = arg.source.rpartition("/")
            if arg.shape != "glob" or name not in ("*", ".*", "**", "?*", ".[!.]*", ".??*"):
                return False
            text = folder + "/" if folder or arg.source.startswith("/") else "."
        for base in self.folders:
            if base is None and not text.startswith("/"):
                return True
            path = self._resolve_path(text, base or "/")
            if self.root == path or self.root.startswith(path.rstrip("/") + "/") or path == self.home:
                return True
        return False

    def is_inside_workspace(self, text: str) -> bool:
        """Whether a path surely is in the workspace."""
        found = [
            each is not None and self._is_below_root(self._resolve_path(text, each)) for each in self.folders
        ]
        return all(found)

    def list_folders_after_cd(self, text: str) -> tuple[str | None, ...]:
        """Return the possible working directories after `cd TEXT`, which may also fail."""
        after: list[str | None] = list(self.folders)
        for folder in self.folders:
            if folder is None and not text.startswith("/"):
                continue
            joined = posixpath.join(folder or "/", text)
            after += [posixpath.normpath(joined), posixpath.realpath(joined)]
        unique = tuple(dict.fromkeys(after))
        return unique if len(unique) <= MAX_FOLDERS else (None,)

    def explain_other_repository(self) -> str:
        """Return why git may use another repository here than the workspace's own; "" if it does not."""
        for folder in self.folders:
            if folder is None:
                return "git runs in a folder that is not known"
            path = posixpath.realpath(folder)
            if not self._is_below_root(path):
                return "git runs outside the workspace"
            while path != self.root:
                if posixpath.lexists(posixpath.join(path, GIT)) or _is_bare_repository(path):
                    return f"git runs in another repository: {path!r}"
                path = posixpath.dirname(path)
        return ""

    def _classify_change(self, text: str, *, follow: bool) -> Effect:
        if None in self.folders and not text.startswith("/"):
            return Effect(kind="unknown", reason=f"writes {text!r} in a folder that is not known")
        resolve = self._resolve_path if follow else self._resolve_entry
        found = [resolve(text, folder or "/") for folder in self.folders]
        return self._build_effect("write", found)

    def _build_effect(self, kind: Literal["read", "write"], paths: Sequence[str]) -> Effect:
        unique = list(dict.fromkeys(paths))
        outside = [path for path in unique if not self._is_below_root(path)]
        guarded = [path for path in unique if kind == "write" and self._is_protected(path)]
        reason = "outside the workspace" if outside else "protected" if guarded else ""
        bad = dict.fromkeys((*outside, *guarded))
        # A rule or key behind one possible place counts, wherever the others are.
        usual = [posixpath.relpath(path, self.root) for path in unique if path not in bad]
        return Effect(kind=kind, paths=(*bad, *usual), outside=bool(bad), reason=reason)

    def _resolve_path(self, text: str, folder: str) -> str:
        joined = posixpath.normpath(posixpath.join(folder, text))
        if joined.startswith(_UNSTABLE) and joined.startswith(tuple(f"{each}/" for each in _UNSTABLE)):
            return joined
        return posixpath.realpath(posixpath.join(folder, text))

    def _resolve_entry(self, text: str, folder: str) -> str:
        """Return the path of the entry itself: links in its folder are resolved, a final link is not, unless a slash
        behind it means what it leads to."""
        parent, name = posixpath.split(text.rstrip("/") or "/")
        if name in ("", ".", "..") or text.endswith("/"):
            return self._resolve_path(text, folder)
        return posixpath.join(self._resolve_path(parent or ".", folder), name)

    def _is_below_root(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root.rstrip("/") + "/")

    def _is_protected(self, path: str) -> bool:
        if not self._is_below_root(path):
            return False
        if is_own_file(Path(path), Path(self.root)):
            return True
        names = path[len(self.root) :].split("/")
        return any(name.translate(_IGNORED).rstrip(". ").casefold() in _PROTECTED for name in names if name)


_OF_A_PROCESS = parse_word_set("environ root cwd fd mem maps smaps map_files task exe cmdline auxv ns stack")


def _shows_a_process(path: str) -> bool:
    """Return whether a path below /proc shows memory or variables of a process, or leads elsewhere by its links."""
    parts = [each for each in path.split("/") if each not in ("", ".")]
    below = path.startswith("/proc/") or ".." in parts
    return below and "proc" in parts and not _OF_A_PROCESS.isdisjoint(parts[parts.index("proc") + 1 :])


def create_classifier(root: Path, cwd: Path | None) -> PathClassifier:
    """Create the classifier for commands that start in `cwd` (the root, if None)."""
    return PathClassifier(
        root=posixpath.realpath(root),
        folders=(posixpath.realpath(cwd if cwd is not None else root),),
        home=posixpath.realpath(posixpath.expanduser("~")),
    )


def _is_bare_repository(path: str) -> bool:
    return posixpath.isfile(posixpath.join(path, "HEAD")) and posixpath.isdir(posixpath.join(path, "objects"))
