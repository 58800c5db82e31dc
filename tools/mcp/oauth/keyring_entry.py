"""An entry of the desktop's keyring (package `keyring`, an extra); where there is no keyring, nothing is stored."""

from __future__ import annotations

import importlib
from typing import Any

SERVICE = "patchwright-mcp"


def read_entry(name: str) -> str:
    """Return the text of an entry, "" without one."""
    keyring = _import_keyring()
    if keyring is None:
        return ""
    try:
        return str(keyring.get_password(SERVICE, name) or "")
    except keyring.errors.KeyringError:  # no desktop, or it is locked
        return ""


def write_entry(name: str, text: str) -> bool:
    """Store a text; return whether it can be read again: some backends only seem to store."""
    keyring = _import_keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, name, text)
        return bool(keyring.get_password(SERVICE, name) == text)
    except keyring.errors.KeyringError:
        return False


def delete_entry(name: str) -> bool:
    """Remove an entry, if there is one; return whether none is left, as far as a keyring can say."""
    keyring = _import_keyring()
    if keyring is None:
        return True
    try:
        if keyring.get_password(SERVICE, name) is not None:
            keyring.delete_password(SERVICE, name)
    except keyring.errors.NoKeyringError:
        return True
    except keyring.errors.KeyringError:  # it is locked, or the user refused
        return False
    return True


def _import_keyring() -> Any:
    try:
        importlib.import_module("keyring.errors")
        return importlib.import_module("keyring")
    except ImportError:
        return None
