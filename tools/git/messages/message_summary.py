"""Commit message from the symbols that a change adds, changes and removes: a subject and a list. No model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import quote_name
from tools.core.text import format_count
from tools.git.git_change import Change, File
from tools.git.messages.message_style import MOSTLY, Style
from tools.lint.test_files import is_test_file

LISTED = 12
"""Files that the body names."""

_LARGEST = 500_000
"""Bytes of a file that is parsed for its symbols."""

_DOCS = (".md", ".rst", ".txt", ".adoc")
_BUILD = (
    *("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json", "package-lock.json"),
    *(
        "yarn.lock",
        "pnpm-lock.yaml",
        "uv.lock",
        "poetry.lock",
        "Cargo.toml",
        "Cargo.lock",
        "go.mod",
        "go.sum",
    ),
    *("Gemfile", "Gemfile.lock", "pom.xml", "build.gradle", "Makefile", "Dockerfile", "CMakeLists.txt"),
)
_CI = (".github/", ".gitlab-ci", ".circleci/", ".ci/", "azure-pipelines", "Jenkinsfile")

_VERBS = {
    "en": {"add": "Add {}", "change": "Change {}", "remove": "Remove {}", "rename": "Rename {} to {}"},
    "de": {
        "add": "{} hinzugefügt",
        "change": "{} geändert",
        "remove": "{} entfernt",
        "rename": "{} in {} umbenannt",
    },
    "fr": {"add": "Ajoute {}", "change": "Modifie {}", "remove": "Supprime {}", "rename": "Renomme {} en {}"},
    "es": {"add": "Añade {}", "change": "Cambia {}", "remove": "Elimina {}", "rename": "Renombra {} a {}"},
    "pt": {
        "add": "Adiciona {}",
        "change": "Altera {}",
        "remove": "Remove {}",
        "rename": "Renomeia {} para {}",
    },
}
_AND = {"en": "and", "de": "und", "fr": "et", "es": "y", "pt": "e"}
_MORE = {"en": "{} more", "de": "{} weitere", "fr": "{} autres", "es": "{} más", "pt": "mais {}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolChanges:
    """Changed symbols of one file, by qualified name; renamed: (old, new)."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.renamed)


def compose_message(change: Change, style: Style, ticket: str = "") -> str:
    """Compose a message for a change, in the style of its repository, ending in a newline; "" for an empty change."""
    if not change.files:
        return ""
    change.load_contents()
    facts = {each.path: diff_symbols(change, each) for each in change.files}
    subject = _apply_style(_compose_subject(change, facts, style.language), change, facts, style, ticket)
    lines = [_describe_file(each, facts[each.path]) for each in change.files[:LISTED]]
    is_short = len(change.files) == 1 and not _has_many_changes(facts[change.files[0].path])
    if is_short and not style.rules.needs_body:
        return f"{subject}\n"
    if len(change.files) > LISTED:
        lines.append(f"- {len(change.files) - LISTED} more files")
    return "\n".join([subject, "", *lines]) + "\n"


def diff_symbols(change: Change, file: File) -> SymbolChanges:
    """Return the symbols of a file that a change touches; none for a language without a grammar, or a large file:
    a parser that is at work on one answers to no interrupt.

    A text that its grammar cannot parse wholly hides symbols that it has, or shows them under other names: what only
    the old side shows is then no removal, and where the old text is such a one, only new first lines are additions.
    """
    if file.size > _LARGEST:
        return SymbolChanges()
    from tools.code.languages import can_parse
    from tools.code.symbols import list_definitions

    sides = []
    heads: dict[str, str] = {}
    texts = [change.read_text(blob) for blob in (file.old, file.new)]
    for text in texts:
        lines = text.split("\n")
        found: dict[str, str] = {}
        for each in list_definitions(file.path, text) if text else ():
            found.setdefault(each.name, "\n".join(lines[each.first - 1 : each.last]))
            heads[each.name] = lines[each.own_first - 1].strip()
        sides.append(found)
    old, new = sides
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    if (added or removed) and not can_parse(file.path, texts[0]):
        known = [{line.strip() for line in text.split("\n")} for text in texts]
        added = [name for name in added if heads[name] not in known[0]]
        removed = [name for name in removed if heads[name] not in known[1]]
    if removed and texts[1] and not can_parse(file.path, texts[1]):
        removed = []
    changed = [name for name in new if name in old and new[name] != old[name]]
    # A class changes with its methods: the methods are more specific.
    inner = {name.rpartition(".")[0] for name in (*changed, *added, *removed)}
    renamed = []
    for name in list(removed):
        same = next(
            (each for each in added if _mask_name(old[name], name) == _mask_name(new[each], each)), None
        )
        if same is not None:
            renamed.append((name, same))
            removed.remove(name)
            added.remove(same)
    return SymbolChanges(
        added=_keep_outermost(added),
        changed=tuple(name for name in changed if name not in inner),
        removed=_keep_outermost(removed),
        renamed=tuple(renamed),
    )


def _keep_outermost(names: Sequence[str]) -> tuple[str, ...]:
    """Drop names whose enclosing symbol is added or removed as well."""
    return tuple(name for name in names if name.rpartition(".")[0] not in names)


def _mask_name(text: str, name: str) -> str:
    return text.replace(name.rpartition(".")[2], "\0")


def _has_many_changes(facts: SymbolChanges) -> bool:
    return len(facts.added) + len(facts.changed) + len(facts.removed) + len(facts.renamed) > 1


def _compose_subject(change: Change, facts: dict[str, SymbolChanges], language: str) -> str:
    verbs = _VERBS[language]
    code = [each for each in change.files if not is_test_file(each.path)] or change.files
    added = [name for each in code for name in facts[each.path].added]
    changed = [name for each in code for name in facts[each.path].changed]
    removed = [name for each in code for name in facts[each.path].removed]
    renamed = [pair for each in code for pair in facts[each.path].renamed]
    if renamed and not (added or removed or changed):
        return verbs["rename"].format(*renamed[0])
    new = [each.path for each in code if each.status == "A"]
    gone = [each.path for each in code if each.status == "D"]
    for verb, names in (("add", added), ("change", changed), ("remove", removed)):
        if names and not (verb == "add" and len(new) == len(code) and len(code) > 1):
            return verbs[verb].format(_join_names(names, language))
    if len(new) == len(code):
        return verbs["add"].format(_join_names(_shorten_paths(new), language))
    if len(gone) == len(code):
        return verbs["remove"].format(_join_names(_shorten_paths(gone), language))
    return verbs["change"].format(_join_names(_shorten_paths([each.path for each in code]), language))


def _shorten_paths(paths: Sequence[str]) -> list[str]:
    """Return file names where they are unique, else paths; the folder's path for many files of one folder."""
    folders = {str(PurePosixPath(path).parent) for path in paths}
    if len(paths) > 3 and len(folders) == 1 and folders != {"."}:
        return [quote_name(f"{folders.pop()}/")]
    names = [PurePosixPath(path).name for path in paths]
    return list(map(quote_name, names if len(set(names)) == len(names) else paths))


def _join_names(names: Sequence[str], language: str) -> str:
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    last = names[1] if len(names) == 2 else _MORE[language].format(len(names) - 1)
    return f"{names[0]} {_AND[language]} {last}"


def _apply_style(
    text: str, change: Change, facts: dict[str, SymbolChanges], style: Style, ticket: str
) -> str:
    """Format a subject in the repository's style: type and scope, ticket, capital, full stop."""
    prefix = ""
    rules = style.rules
    is_conventional = rules.is_conventional or (style.is_known and style.conventional >= MOSTLY)
    if is_conventional:
        scope = _choose_scope(change, style)
        prefix = f"{_choose_type(change, facts, style)}{f'({scope})' if scope else ''}: "
    first = text.split(" ", 1)[0]
    is_verb = first in {each.split(" ")[0] for each in _VERBS[style.language].values()}
    wants_lower = style.is_known and style.capital < 0.5
    if rules.wanted_cases or rules.refused_cases:
        wants_lower = "sentence-case" in rules.refused_cases or "lower-case" in rules.wanted_cases
    if wants_lower and is_verb:
        text = text[:1].lower() + text[1:]
    if "lower-case" in rules.wanted_cases:
        text = text.lower()
    if style.ticket and ticket:
        prefix = style.ticket.format(ticket) + prefix
    if style.is_known and style.stop >= MOSTLY and not rules.stop:
        text += "."
    room = (rules.header_length or style.width) - len(prefix)
    return prefix + (text if len(text) <= room else text[: room - 1].rstrip() + "…")


def _choose_type(change: Change, facts: dict[str, SymbolChanges], style: Style) -> str:
    """Choose a fitting type of conventional commits, of those that are allowed, preferably one in use here."""
    found = _guess_type(change, facts, style)
    allowed = style.rules.types
    if not allowed or found in allowed:
        return found
    return next((each for each in ("chore", "fix", "feat") if each in allowed), allowed[0])


def _guess_type(change: Change, facts: dict[str, SymbolChanges], style: Style) -> str:
    paths = [each.path for each in change.files]
    for name, fits in (
        ("test", is_test_file),
        ("docs", lambda path: path.endswith(_DOCS) or path.startswith("docs/")),
        ("ci", lambda path: path.startswith(_CI)),
        ("build", lambda path: PurePosixPath(path).name in _BUILD),
    ):
        if all(fits(path) for path in paths):
            return name if name in style.types or "chore" not in style.types else "chore"
    code = [facts[path] for path in paths if not is_test_file(path)]
    if any(each.added for each in code) or any(
        file.status == "A" for file in change.files if not is_test_file(file.path)
    ):
        return "feat"
    if any(is_test_file(path) for path in paths):
        return "fix"
    return "refactor" if any(each.renamed for each in code) or "fix" not in style.types else "fix"


def _choose_scope(change: Change, style: Style) -> str:
    """Choose a scope that occurs in a file's path, of those that are allowed or in use, if one is due."""
    rules = style.rules
    if rules.has_no_scope or (style.scoped < MOSTLY and not rules.needs_scope):
        return ""
    parts = Counter(
        part
        for each in change.files
        for part in {*PurePosixPath(each.path).parts, PurePosixPath(each.path).stem}
    )
    fitting = [scope for scope in rules.scopes or style.scopes if scope in parts]
    if fitting:
        return max(fitting, key=lambda scope: parts[scope])
    if not rules.needs_scope:
        return ""
    return rules.scopes[0] if rules.scopes else PurePosixPath(change.files[0].path).stem


def _describe_file(file: File, facts: SymbolChanges) -> str:
    words = {"A": "new", "D": "removed", "T": "another kind of file"}.get(file.status, "")
    parts = [words] if words else []
    for verb, names in (("add", facts.added), ("change", facts.changed), ("remove", facts.removed)):
        if names and file.status == "M":
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            parts.append(f"{verb} {shown}")
    parts += [f"rename {old} to {new}" for old, new in facts.renamed]
    if not parts:
        lines = sum(len(hunk.added) + len(hunk.removed) for hunk in file.hunks)
        parts.append(format_count(lines, "line") if lines else "changed")
    return f"- {quote_name(file.path)}: {'; '.join(parts)}"
