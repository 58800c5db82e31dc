"""The setting `terminal.footer`: a line of fields such as `{model} · {branch} · {cost}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily

FIELDS: Mapping[str, str] = {
    "model": "the model in use",
    "mode": "how far actions reach, or plan",
    "approval": "who is asked",
    "sandbox": "what confines commands",
    "branch": "the git branch",
    "context": "share of the model's window that is used",
    "cost": "of the calls since the conversation was opened",
    "session": "id of the session",
    "folder": "name of the workspace's folder",
}
"""Fields of a template, and their meanings."""

BETWEEN = " · "
"""Separator of parts; a part whose fields are all empty is left out with it."""

_FIELD = compile_lazily(r"\{([^{}]*)\}")


def check_template(template: str, name: str = "setting 'terminal.footer'") -> None:
    """Raise UserError for a field that there is not, or an unbalanced brace."""
    unknown = [each for each in _FIELD.findall(template) if each not in FIELDS]
    if unknown:
        known = ", ".join(f"{{{each}}}" for each in FIELDS)
        raise UserError(
            Fault.CONFIGURATION, f"{name}: there is no field {{{unknown[0]}}}", f"There are: {known}."
        )
    if set("{}") & set(_FIELD.sub("", template)):
        raise UserError(
            Fault.CONFIGURATION, f"{name}: a brace without its other one", "A field looks like {model}."
        )


def format_template(template: str, fields: Mapping[str, Callable[[], str]]) -> str:
    """Return the template with its fields filled in; only those that it names are computed."""
    parts = []
    for part in template.split(BETWEEN):
        names = _FIELD.findall(part)
        values = {each: fields[each]() for each in names}
        if not names or any(values.values()):
            parts.append(_FIELD.sub(lambda match, found=values: found[match[1]], part))  # type: ignore[misc]
    return BETWEEN.join(parts)
