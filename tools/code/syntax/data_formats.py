"""Syntax of data formats that the standard library parses."""

from __future__ import annotations

from tools.code.syntax.syntax_problem import Problem


def find_json_problems(source: str) -> list[Problem]:
    """Return the first error of strict JSON."""
    import json

    try:
        json.loads(source)
    except json.JSONDecodeError as error:
        return [Problem(line=error.lineno, message=error.msg)]
    except (ValueError, RecursionError):  # a number too long, or nested too deeply to check
        return []
    return []


def find_toml_problems(source: str) -> list[Problem]:
    """Return the first error of TOML 1.1, of which the standard library may know only 1.0."""
    import re
    import tomllib

    try:
        tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        first, later = str(error), _find_later_toml_error(source)
    except (ValueError, RecursionError):  # a number too long, or nested too deeply to check
        return []
    else:
        return []
    if later is None:
        return []
    lines = [int(place[1]) if (place := re.search(r"line (\d+)", each)) else 1 for each in (first, later)]
    # An error further down shows that the first is none of 1.1.
    line, message = (lines[1], later) if lines[1] > lines[0] else (lines[0], first)
    return [Problem(line=line, message=message)]


def _find_later_toml_error(source: str) -> str | None:
    """Return the first error of TOML 1.1; None if there is none."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        tomlkit.parse(source)
    except TOMLKitError as error:
        return str(error)
    except RecursionError:  # nested too deeply to check
        return None
    return None
