"""Certificates that connections of our own process trust."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from sandbox.errors import Fault, UserError


def create_tls_context() -> ssl.SSLContext:
    """Create a context with certificates from SSL_CERT_FILE or REQUESTS_CA_BUNDLE, else the system's, else
    certifi's."""
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        if path := os.environ.get(variable):
            try:
                if Path(path).is_dir():
                    return ssl.create_default_context(capath=path)
                return ssl.create_default_context(cafile=path)
            except OSError as error:
                raise UserError(
                    Fault.CONFIGURATION,
                    f"{variable}={path!r} cannot be used: {error.strerror or error}",
                    "Let it name a file of PEM certificates, or unset it",
                ) from None
    paths = ssl.get_default_verify_paths()
    if paths.cafile or (paths.capath and any(Path(paths.capath).iterdir())) or os.name == "nt":
        return ssl.create_default_context()
    import certifi  # a Python built elsewhere searches for the system's certificates in the wrong place

    return ssl.create_default_context(cafile=certifi.where())
