"""Support for templates: parsed source, site, precedence, name similarity, fitted weights."""
