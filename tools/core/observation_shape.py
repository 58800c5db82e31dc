"""The shape in which an observation is recorded: redacted, of bounded length, its full text kept as an artifact."""

from __future__ import annotations

from dataclasses import replace

from sandbox.secrets.child_environment import redact
from tools.core.action import Observation
from tools.core.artifacts import Artifacts

MAX_TEXT = 24_000
"""Characters of one observation that reach a model, whatever a tool returns: about 7k tokens (peers: 8 to 61 KB)."""

KEEP_WHOLE = 500
"""Shorter observations are not worth an artifact: masking them saves nothing."""


def shape_observation(observation: Observation, artifacts: Artifacts) -> Observation:
    """Redact and truncate the text; keep the full text as an artifact, so that any later step can read it."""
    text, ref = redact(observation.text), observation.ref
    if len(text) > KEEP_WHOLE and not ref:
        try:
            ref = artifacts.save(text.encode("utf-8", "replace"))
        except OSError:  # disk full: the observation itself matters more than its copy
            ref = ""
    if len(text) > MAX_TEXT:
        cut = len(text) - MAX_TEXT
        half = MAX_TEXT // 2
        text = f'{text[:half]}\n[… {cut} characters cut; recall(ref="{ref}") shows all …]\n{text[-half:]}'
    if text == observation.text and ref == observation.ref:
        return observation
    return replace(observation, text=text, ref=ref)
