"""Causes of failing tests that no change of the code mends: what is missing on the machine, and how to get it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

PACKAGES: Mapping[str, str] = {
    "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python", "dateutil": "python-dateutil",
    "dotenv": "python-dotenv", "fitz": "pymupdf", "git": "gitpython", "jose": "python-jose", "jwt": "pyjwt",
    "OpenSSL": "pyopenssl", "PIL": "pillow", "pkg_resources": "setuptools", "psycopg2": "psycopg2-binary",
    "serial": "pyserial", "skimage": "scikit-image", "sklearn": "scikit-learn", "yaml": "pyyaml", "zmq": "pyzmq",
}  # fmt: skip
"""Names of packages whose modules are called otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """Why tests fail, and what to do; each a sentence without its full stop."""

    reason: str
    remedy: str


def find_machine_cause(report: Mapping[str, Any], root: Path, python: str = "python3") -> FailureCause | None:
    """Return what the machine lacks, if that is why every failing test of a report fails; None otherwise.

    report: of a run, as `run_tests` tells it; python: that installs packages
    """
    failures = [each for each in report.get("failures") or () if isinstance(each, dict)]
    if not failures:
        return None
    found = [
        _find_cause(f"{each.get('message', '')}\n{each.get('detail', '')}", root, python) for each in failures
    ]
    causes = [each for each in found if each is not None]
    if len(causes) != len(failures):
        return None
    unique = list(dict.fromkeys((each.reason, each.remedy) for each in causes))
    return FailureCause(
        reason=_join(reason for reason, _ in unique), remedy=_join(remedy for _, remedy in unique)
    )


def _join(parts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(parts))


def _find_cause(text: str, root: Path, python: str) -> FailureCause | None:
    for pattern, build in _CAUSES:
        for match in pattern.finditer(text):
            cause = build(match, root, python)
            if cause is not None:
                return cause
    return None


def _build_missing_module(match: re.Match[str], root: Path, python: str) -> FailureCause | None:
    name = match[1].partition(".")[0]
    if _is_own_module(name, root):
        return None  # the code's own fault, or its layout's
    package = PACKAGES.get(name, name.replace("_", "-"))
    return FailureCause(
        reason=f"the package of the module {name!r} is not installed",
        remedy=f"{python} -m pip install {package}",
    )


def _is_own_module(name: str, root: Path) -> bool:
    places = [root, root / "src", root / "lib", root / "tests"]
    return any((place / name).is_dir() or (place / f"{name}.py").is_file() for place in places)


def _build_other_version(match: re.Match[str], root: Path, python: str) -> FailureCause | None:
    name = match[2].partition(".")[0]
    if _is_own_module(name, root):
        return None
    return FailureCause(
        reason=f"{name} is there in another version, without {match[1]!r}",
        remedy=f"{python} -m pip install --upgrade {PACKAGES.get(name, name)}, or the version that the project names",
    )


def _build_node_module(match: re.Match[str], root: Path, python: str) -> FailureCause | None:
    name = match[1]
    if name.startswith((".", "/", "node:")):
        return None
    parts = name.split("/")
    package = "/".join(parts[: 2 if name.startswith("@") else 1])
    is_named = f'"{package}"' in _read_manifest(root)
    return FailureCause(
        reason=f"the package {package!r} is not installed",
        remedy="npm install" if is_named else f"npm install --save-dev {package}",
    )


def _read_manifest(root: Path) -> str:
    from sandbox.errors import UserError
    from sandbox.fs.untrusted_file import read_workspace_text

    try:
        return read_workspace_text(root, "package.json", 1 << 20)
    except (UserError, OSError):
        return ""


def _build_go_module(match: re.Match[str], root: Path, python: str) -> FailureCause | None:
    return FailureCause(reason=f"the module of {match[1]} is not there", remedy=f"go get {match[1]}")


def _build_tool(match: re.Match[str], root: Path, python: str) -> FailureCause | None:
    name = next(filter(None, match.groups()))
    return FailureCause(reason=f"the program {name!r} is not installed", remedy=f"install {name}")


def _build_network(match: re.Match[str], root: Path, python: str) -> FailureCause | None:
    return FailureCause(
        reason="the tests need the network, which commands do not have here",
        remedy="run them yourself, or allow their hosts: docs/permissions.md",
    )


_CAUSES: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], Path, str], FailureCause | None]]] = (
    (compile_lazily(r"ModuleNotFoundError: No module named '([\w.]+)'"), _build_missing_module),
    (
        compile_lazily(
            r"ImportError: cannot import name '(\w+)' from '([\w.]+)' \([^)]*(?:site|dist)-packages"
        ),
        _build_other_version,
    ),
    (compile_lazily(r"Cannot find (?:module|package) '([^'\s]+)'"), _build_node_module),
    (compile_lazily(r"no required module provides package ([\w./-]+)"), _build_go_module),
    (
        compile_lazily(
            r"(?:^|\n)[^\n]*\bsh: (?:line )?(?:\d+: )?([\w.+-]+): (?:command )?not found"
            r"|No such file or directory: '([\w+-]+)'|spawn ([\w.+-]+) ENOENT"
        ),
        _build_tool,
    ),
    (
        compile_lazily(
            r"socket\.gaierror|Temporary failure in name resolution|Name or service not known|Network is unreachable"
            r"|getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|Could not resolve host|dial tcp: lookup "
        ),
        _build_network,
    ),
)
"""Messages of failures, the most exact first, and what each says of the machine."""
