"""A rule as settings carry it: its kinds are imported only where a user has written one."""

from __future__ import annotations


class NamedRule:
    """Base of the kinds of rules in agent/rules/rule_kinds.py."""

    __slots__ = ()
