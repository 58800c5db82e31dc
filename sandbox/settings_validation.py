"""Validation of settings, for the sections that every floor defines for itself."""

from __future__ import annotations

FORBID_UNKNOWN = {"extra": "forbid"}
"""Pydantic's configuration (`__pydantic_config__`) of all classes of settings: an unknown setting is reported as an
error. Sections are dataclasses, so that pydantic is imported only where a file or a variable sets something."""

ALLOW_CLASSES = {"arbitrary_types_allowed": True}
"""Pydantic's configuration of a class with a field of objects that are validated elsewhere."""
