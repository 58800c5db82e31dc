"""Layout of a project: its folders, their content, and its languages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from packages.setup.init.purpose import extract_first_sentence, read_beginning

LANGUAGES = {
    "c": "C",
    "cc": "C++",
    "cpp": "C++",
    "cs": "C#",
    "css": "CSS",
    "go": "Go",
    "h": "C",
    "hpp": "C++",
    "html": "HTML",
    "java": "Java",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "kt": "Kotlin",
    "md": "Markdown",
    "php": "PHP",
    "py": "Python",
    "pyi": "Python",
    "rb": "Ruby",
    "rs": "Rust",
    "scala": "Scala",
    "sh": "Shell",
    "sql": "SQL",
    "swift": "Swift",
    "toml": "TOML",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "vue": "Vue",
    "yaml": "YAML",
    "yml": "YAML",
}
"""Languages by file extension; other extensions are counted as other files."""

MOST_FOLDERS = 20


def describe_layout(root: Path, files: Sequence[str]) -> list[str]:
    """Return one line for each top folder, then one for the languages."""
    folders: dict[str, list[str]] = {}
    for path in files:
        top, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(top, []).append(rest)
    lines = [_describe_folder(root, name, folders[name]) for name in sorted(folders)[:MOST_FOLDERS]]
    if len(folders) > MOST_FOLDERS:
        lines.append(f"and {len(folders) - MOST_FOLDERS} more folders")
    return [*lines, f"In all: {_count_languages(files)}"] if files else []


def _describe_folder(root: Path, name: str, files: list[str]) -> str:
    said = _read_folder_purpose(root / name)
    inside = sorted({rest.partition("/")[0] for rest in files if "/" in rest})
    shown = ", ".join(f"{each}/" for each in inside[:6]) + (", …" if len(inside) > 6 else "")
    return f"`{name}/`: {said or _count_languages(files)}" + (f" (with {shown})" if inside else "")


def _read_folder_purpose(folder: Path) -> str:
    """Return the folder's own description: a package's docstring, or the first sentence of its README."""
    match = re.match(r'\s*[rR]?("""|\'\'\')(.+?)(?:\n|\1)', read_beginning(folder / "__init__.py", 4096))
    if match:
        return match[2].strip()
    return extract_first_sentence(read_beginning(folder / "README.md", 4096))[:160]


def _count_languages(files: Iterable[str]) -> str:
    """Return "12 Python, 3 Markdown, 4 other files", the most frequent first."""
    counted = Counter(LANGUAGES.get(path.rpartition(".")[2].lower(), "") for path in files)
    other = counted.pop("", 0)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    shown, rest = ranked[:5], other + sum(count for _, count in ranked[5:])
    parts = [f"{count} {language}" for language, count in shown] + ([f"{rest} other"] if rest else [])
    total = sum(count for _, count in shown) + rest
    return f"{', '.join(parts)} file{'' if total == 1 else 's'}"
