"""Resolution of imports to files by names alone: no interpreter, compiler or build file is used."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

_FOLDER_FILES = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Modules imported by the name of their folder."""

MAX_OF_FOLDER = 20
"""Most files that an import of a folder (Go, Java's `.*`) resolves to."""


class Modules:
    """The modules of a workspace."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = set(paths)
        self._by_name: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._folders: dict[tuple[str, ...], list[str]] = {}
        self._folders_named: dict[str, list[tuple[str, ...]]] = {}
        self._packages: set[tuple[str, ...]] = set()
        for path in paths:
            parts = get_module_parts(path)
            if parts:
                self._by_name.setdefault(parts[-1], []).append((parts, path))
            self._folders.setdefault(tuple(path.split("/")[:-1]), []).append(path)
            if path.endswith("__init__.py"):
                self._packages.add(parts)
        for folder in self._folders:
            if folder:
                self._folders_named.setdefault(folder[-1], []).append(folder)

    def resolve(self, module: str, names: Sequence[str], origin: str) -> list[str]:
        """Return the files that an import in `origin` resolves to, [] for one outside the workspace."""
        if origin.endswith((".py", ".pyi")):
            return self._resolve_python(module, names, origin)
        if module.startswith("."):
            return self._find_by_stem(posixpath.normpath(posixpath.join(posixpath.dirname(origin), module)))
        near = self._find_by_stem(posixpath.normpath(posixpath.join(posixpath.dirname(origin), module)))
        return near or self._find_by_suffix(module, origin)

    def _resolve_python(self, module: str, names: Sequence[str], origin: str) -> list[str]:
        dots = len(module) - len(module.lstrip("."))
        rest = tuple(part for part in module.split(".") if part)
        if dots:
            folder = tuple(origin.split("/")[:-1])
            base = folder[: len(folder) - (dots - 1)] if dots > 1 else folder
            found = [self._find_exact((*base, *rest, name)) for name in names]
            whole = self._find_exact((*base, *rest))
        else:
            found = [self._find_absolute((*rest, name)) for name in names]
            whole = self._find_absolute(rest)
        inner = [path for path in found if path]
        if whole and (len(inner) < len(names) or not names):
            inner.append(whole)
        return list(dict.fromkeys(inner))

    def _find_exact(self, parts: tuple[str, ...]) -> str:
        return (
            next((path for each, path in self._by_name.get(parts[-1], ()) if each == parts), "")
            if parts
            else ""
        )

    def _find_absolute(self, parts: tuple[str, ...]) -> str:
        """Find a module from the root, or from a folder that is not a package itself (`src`, `lib`, `tests`)."""
        if not parts:
            return ""
        for each, path in self._by_name.get(parts[-1], ()):
            front = each[: len(each) - len(parts)]
            if each[len(front) :] == parts and front not in self._packages and path.endswith((".py", ".pyi")):
                return path
        return ""

    def _find_by_stem(self, stem: str) -> list[str]:
        if stem in self._paths:
            return [stem]
        parts = get_module_parts(stem) if "." in posixpath.basename(stem) else tuple(stem.split("/"))
        for wanted in (tuple(stem.split("/")), parts):
            exact = self._find_exact(wanted)
            if exact:
                return [exact]
        return []

    def _find_by_suffix(self, module: str, origin: str) -> list[str]:
        ending = "/" + module
        if "/" in module or "." in module:
            stem = get_module_parts(module)[-1:]  # with a file extension, as in C
            whole = (
                [path for _, path in self._by_name.get(stem[0], ()) if f"/{path}".endswith(ending)]
                if stem
                else []
            )
            if whole:
                return sorted(whole)[:MAX_OF_FOLDER]
        parts = tuple(
            part for part in re.split(r"[./\\]|::", module) if part not in ("", "crate", "super", "self")
        )
        suffix = origin[origin.rfind(".") :]
        for wanted in (parts, parts[:-1]):
            if not wanted:
                break
            found = [
                path
                for each, path in self._by_name.get(wanted[-1], ())
                if each[-len(wanted) :] == wanted[-len(each) :] and path.endswith(suffix)
            ]
            if found and (len(wanted) > 1 or len(found) == 1):
                return found[:MAX_OF_FOLDER]
            if inside := self._find_in_folder(wanted, suffix):
                return inside
        return []

    def _find_in_folder(self, wanted: tuple[str, ...], suffix: str) -> list[str]:
        """Return files of a folder imported as a whole; in Go, host and project precede its name."""
        for drop in range(len(wanted)):
            end = wanted[drop:]
            for folder in self._folders_named.get(end[-1], ()):
                if folder == end or (len(end) > 1 and folder[-len(end) :] == end):
                    inside = [path for path in self._folders[folder] if path.endswith(suffix)]
                    if inside:
                        return inside[:MAX_OF_FOLDER]
        return []


def get_module_parts(path: str) -> tuple[str, ...]:
    """Return the parts of the module name of a file: shop/cart/__init__.py → shop, cart."""
    folder, _, name = path.rpartition("/")
    stem = name.split(".")[0] if not name.startswith(".") else name
    parts = tuple(folder.split("/")) if folder else ()
    return parts if stem in _FOLDER_FILES and parts else (*parts, stem)
