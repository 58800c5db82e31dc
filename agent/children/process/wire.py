"""Lines between a session and its child in another process.

A line is an event as in a log, or a message: an object whose first key is "message", its kind.

To the child: start, turn, steer, stop, decision, grant, close. From it: ready, refused, ended, question, reserve,
spend, promise. Nothing is pickled, and what the child sends is data only: it names no file and grants nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.budget.purse import Amount, Purse
from agent.children.executor import ChildOrder
from agent.events import UsageRecord
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from sandbox.policy.decision import Approver
from sandbox.process.command_line import CommandLine

if TYPE_CHECKING:
    from tools.mcp.server_place import ServerPlace

LONGEST = 16 << 20
"""Bytes of a line: no event is longer, since outputs and replies are bounded."""

_START = b'{"message":'


def encode_message(kind: str, **fields: Any) -> bytes:
    """Encode a message as a line."""
    return json.dumps({"message": kind, **fields}, separators=(",", ":")).encode() + b"\n"


def decode_message(line: bytes) -> dict[str, Any] | None:
    """Return the message of a line, None if it is an event. Raises ValueError."""
    if not line.startswith(_START):
        return None
    try:
        found = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not (isinstance(found, dict) and isinstance(found.get("message"), str)):
        raise ValueError("not a message")
    return found


def encode_order(order: ChildOrder, *, has_cost_limit: bool) -> dict[str, Any]:
    """Return the fields of a "start" message. The purse, the approver and the callback stay here."""
    request = order.request
    return {
        "settings": asdict(order.settings),
        "home": order.home.encode(),
        "working": str(request.working),
        "session": request.session,
        "offer_commit": request.offer_commit,
        "env": dict(request.env),
        "version": request.version,
        "parent": request.parent,
        "depth": request.depth,
        "sessions": str(request.sessions or ""),
        "tools": None if request.tools is None else sorted(request.tools),
        "servers": {name: _encode_server(each) for name, each in request.servers.items()},
        "instructions": request.instructions,
        "system": request.system,
        "rule_state": None if request.rule_state is None else request.rule_state.encode(),
        "can_ask": request.approver is not None,
        "has_cost_limit": has_cost_limit,
    }


def decode_settings(fields: Mapping[str, Any]) -> SessionSettings:
    """Return the settings of a "start" message. Raises ValueError."""
    from pydantic import TypeAdapter

    tables = fields["rules"]
    settings: SessionSettings = TypeAdapter(SessionSettings).validate_python({**fields, "rules": ()})
    if not tables:
        return settings
    from agent.rules.rule_parsing import restore_rules

    return replace(settings, rules=restore_rules(tables))


def decode_request(
    fields: Mapping[str, Any], settings: SessionSettings, purse: Purse, approver: Approver | None
) -> SessionRequest:
    """Return the request of a "start" message."""
    tools = fields["tools"]
    rule_state = None
    if fields["rule_state"] is not None:
        from agent.rules.rule_state import RuleState

        rule_state = RuleState.decode(fields["rule_state"], settings.rules)
    return SessionRequest(
        working=Path(fields["working"]),
        session=fields["session"],
        offer_commit=fields["offer_commit"],
        env=fields["env"],
        version=fields["version"],
        parent=fields["parent"],
        depth=fields["depth"],
        rule_state=rule_state,
        sessions=Path(fields["sessions"]) if fields["sessions"] else None,
        tools=None if tools is None else frozenset(tools),
        servers={name: _decode_server(each) for name, each in fields["servers"].items()},
        instructions=fields["instructions"],
        system=fields["system"],
        purse=purse,
        approver=approver if fields["can_ask"] else None,
    )


def _encode_server(place: ServerPlace) -> dict[str, Any]:
    if isinstance(place, CommandLine):
        return {"argv": place.argv, "environment": dict(place.environment)}
    return {"url": place.url, "headers": place.headers}


def _decode_server(fields: Mapping[str, Any]) -> ServerPlace:
    """Return a server that the caller of the parent gave; its secrets are redacted here, too."""
    from tools.mcp.server_place import HttpPlace, make_given_place

    if "url" in fields:
        return make_given_place(HttpPlace(url=fields["url"], headers=fields["headers"]))
    return make_given_place(CommandLine(argv=tuple(fields["argv"]), environment=fields["environment"]))


def encode_amount(amount: Amount) -> dict[str, Any]:
    """Return an amount as fields."""
    return {"dollars": amount.dollars, "tokens": amount.tokens}


def decode_amount(fields: object) -> Amount:
    """Return an amount of the child. Raises ValueError: one below zero would raise the budget."""
    if not isinstance(fields, dict):
        raise ValueError(f"not an amount: {fields!r}")
    return Amount(
        dollars=_check_number(fields.get("dollars", 0.0)), tokens=int(_check_number(fields.get("tokens", 0)))
    )


def decode_cost(value: object) -> float | None:
    """Return dollars of the child, None if unknown. Raises ValueError."""
    return None if value is None else _check_number(value)


def decode_usage(fields: object) -> UsageRecord:
    """Return a usage of the child. Raises ValueError, also for one below zero."""
    if not isinstance(fields, dict):
        raise ValueError(f"not a usage: {fields!r}")
    counts = {
        name: int(_check_number(fields.get(name, 0))) for name in ("input", "cached", "output", "reasoning")
    }
    written = fields.get("written")
    return UsageRecord(
        **counts,
        cost=decode_cost(fields.get("cost")),
        seconds=_check_number(fields.get("seconds", 0.0)),
        written=None if written is None else int(_check_number(written)),
    )


def _check_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"not a number: {value!r}")
    if not math.isfinite(value) or not 0 <= value < _MOST:
        raise ValueError(f"out of range: {value!r}")
    return value


_MOST = 1e15
