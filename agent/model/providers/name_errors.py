"""Errors of names of models: unknown, or without a key."""

from __future__ import annotations

from agent.model.providers.endpoints import ENDPOINTS, LITELLM
from sandbox.errors import Fault, UserError

_FORMS = "openai/NAME, anthropic/NAME, ollama/NAME, gguf:FILE, NAME --api-base URL, scripted:FILE, offline"


def build_missing_key_error(name: str, variables: tuple[str, ...]) -> UserError:
    return UserError(
        Fault.CREDENTIALS,
        f"{name!r} needs a key, and {' or '.join(variables)} is not set",
        f"export {variables[0]}=…, or give --api-base URL for a server that needs none, or --model offline",
    )


def build_unknown_model_error(name: str) -> UserError:
    import difflib

    provider, slash, model = name.partition("/")
    known = [*ENDPOINTS, *LITELLM]
    is_misspelt = bool(slash and model) and provider.lower() not in (*known, "litellm")
    near = difflib.get_close_matches(provider.lower(), known, n=1) if is_misspelt else []
    hint = f"Did you mean {near[0]}/{model}?" if near else f"Name one as {_FORMS}"
    return UserError(Fault.CONFIGURATION, f"unknown model {name!r}", hint)
