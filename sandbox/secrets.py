"""What a child process may know: allow-listed environment variables, hidden files; redaction of keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_NAMES = """
PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TZ CI

SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT NIX_SSL_CERT_FILE

VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION UV_PYTHON UV_PYTHON_INSTALL_DIR
PYTHONPATH PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONUTF8 PYTHONIOENCODING
CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOBIN GOFLAGS GOMODCACHE GOTOOLCHAIN
JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR KOTLIN_HOME SCALA_HOME
NVM_DIR NODE_PATH VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL DENO_DIR ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR
RBENV_ROOT GEM_HOME GEM_PATH BUNDLE_PATH COMPOSER_HOME DOTNET_ROOT ANDROID_HOME ANDROID_SDK_ROOT
FLUTTER_ROOT NIX_PATH NIX_PROFILES PKG_CONFIG_PATH CMAKE_PREFIX_PATH
"""
# In order: who and where; paths of public certificates, without which nothing verifies behind a company
# proxy; folders and switches without which a project's own toolchain is not found.

PASSED_ON = frozenset(_NAMES.split())
"""Names only: whatever is not here stays with us, however harmless it sounds."""

_FOLDER_ENDINGS = ("_HOME", "_ROOT", "_DIR", "_PREFIX", "_ENV", "GOPATH")
FOLDER_VARIABLES = tuple(name for name in sorted(PASSED_ON) if name.endswith(_FOLDER_ENDINGS))
"""Those whose value is a folder that a project's commands read."""

HIDDEN_IN_HOME = (
    ".ssh",
    ".gnupg",
    ".password-store",
    ".aws",
    ".azure",
    ".kube",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
)
"""Where keys and tokens lie on a developer's machine."""


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: the allow-listed part of ours, then `extra`. Each sandbox sets TMPDIR."""
    env = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}
    env.setdefault("PATH", os.defpath)
    env.update(extra)
    return env


def home() -> Path:
    """The user's home folder, symbolic links resolved."""
    return Path("~").expanduser().resolve()


def secret_places(hidden: Iterable[Path]) -> list[Path]:
    """Files and folders that commands may not read, ours (`hidden`) included; existing ones, resolved."""
    base = home()
    wanted = [*(base / each for each in HIDDEN_IN_HOME), *hidden]
    return [path.resolve() for path in wanted if path.exists()]


def redact(text: str) -> str:
    """Replace keys and tokens: well-known shapes, and the values of our own secret-looking variables."""
    for value in _secret_values():
        if value in text:
            text = text.replace(value, _REDACTED)
    return _KEY_SHAPES.sub(_REDACTED, text)


_REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIALS?)$")

_SHORTEST_SECRET = 12
"""A shorter value ("test", "1234") would be found all over harmless text."""

_KEY_SHAPES = re.compile(
    r"""
      \bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}          # OpenAI, Anthropic, OpenRouter
    | \bgh[pousr]_[A-Za-z0-9]{30,}                        # GitHub
    | \bgithub_pat_[A-Za-z0-9_]{30,}
    | \bglpat-[A-Za-z0-9_-]{20,}                          # GitLab
    | \bhf_[A-Za-z0-9]{30,}                               # Hugging Face
    | \bAIza[A-Za-z0-9_-]{35}                             # Google
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                       # AWS
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}                    # Slack
    | \b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,})
    | -----BEGIN\ (?:[A-Z]+\ )*PRIVATE\ KEY-----.*?-----END\ (?:[A-Z]+\ )*PRIVATE\ KEY-----
    """,
    re.VERBOSE | re.DOTALL,
)


def _secret_values() -> list[str]:
    """Longest first, so that a secret that holds another one goes as a whole."""
    found = {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_SECRET and _SECRET_NAME.search(name.upper()) and not value.startswith("/")
    }
    return sorted(found, key=len, reverse=True)
