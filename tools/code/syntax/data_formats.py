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
    except RecursionError:  # nested too deeply to check
        return []
    return []


def find_toml_problems(source: str) -> list[Problem]:
    """Return the first error of TOML."""
    import re
    import tomllib

    try:
        tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+)", str(error))
        return [Problem(line=int(place[1]) if place else 1, message=str(error))]
    except RecursionError:  # nested too deeply to check
        return []
    return []
