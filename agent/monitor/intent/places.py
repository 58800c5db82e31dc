"""Places that chains begin or end at: secrets, guards, files that programs run by themselves, public folders."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from sandbox.fs.protected_paths import IN_A_HOME
from sandbox.guards.self_run_files import find_self_run_part
from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.child_environment import HIDDEN, HIDDEN_IN_HOME, find_home

_SECRET_FILE = compile_lazily(
    r"\.env(\.[\w.-]+)?|[\w.-]+\.env|\.?secrets?(\.[\w-]+)*\.(ya?ml|json|toml|env|ini|txt)|\.?secrets?"
    r"|[\w-]*credentials?(\.(json|ya?ml|ini|xml|csv|toml|txt))?|service[-_]account[\w.-]*\.json"
    r"|id_(rsa|dsa|ecdsa|ed25519)|[\w.-]+\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)|\.netrc|\.pypirc|\.git-credentials"
    r"|\.htpasswd|\.pgpass|\.vault-token|kubeconfig|terraform\.tfstate(\.backup)?|master\.key|\.dockercfg"
    r"|local_settings\.secret[\w.]*|token(s)?\.(txt|json)",
    re.IGNORECASE,
)
"""Names of files in a project that hold secrets."""

_PUBLIC_FILE = compile_lazily(
    r".*(example|sample|template|dist|default|schema|dummy|fake|mock)s?(\.\w+)?"
    r"|(ca|cert|cacert|chain|fullchain|public|pub)s?[\w.-]*\.(pem|key)|.*[-_.](cert|pub|public|ca)\.(pem|key)|.*\.pub",
    re.IGNORECASE,
)
"""Names that look like secrets and are meant to be read: examples, certificates, public keys."""

_FIXTURES = compile_lazily(
    r"(^|/)(tests?|testing|testdata|test_data|fixtures?|specs?|__tests__|mocks?|examples?|samples?|docs?"
    r"|site-packages|node_modules|vendor|\.venv|venv)/",
    re.IGNORECASE,
)
"""Folders whose keys are made for tests and documents."""

_HOOKS = compile_lazily(
    r"(^|/)(\.git/hooks|\.husky|\.githooks|\.lefthook)/|(^|/)(\.pre-commit-config\.ya?ml|lefthook\.ya?ml)$"
)
_PROTECTION = compile_lazily(
    r"(^|/)(patchwright\.toml|\.patchwright(/|$))|(^|/)\.config/patchwright/|(^|/)\.(claude|codex)/settings[\w.]*\.(json|toml)$"
)
_PIPELINE = compile_lazily(
    r"(^|/)(\.github/workflows/|\.gitlab-ci\.yml$|\.circleci/|Jenkinsfile$|CODEOWNERS$)"
)
_STARTUP = compile_lazily(
    r"(^|/)\.ssh/(authorized_keys2?|rc|config)$|(^|/)\.config/(autostart|systemd)/|(^|/)LaunchAgents/"
    r"|^/etc/(cron[\w.]*|profile|profile\.d|rc\.local|init\.d|systemd|ld\.so\.preload|bash\.bashrc)(/|$)"
    r"|^/var/spool/cron/|(^|/)(sitecustomize|usercustomize)\.py$|\.pth$"
)
_LOGS = compile_lazily(
    r"^/var/log/|(^|/)\.git/logs(/|$)|(^|/)\.(bash|zsh|sh|python|psql|mysql)_history$|(^|/)\.zhistory$"
    r"|(^|/)fish_history$|(^|/)patchwright/(state|sessions|projects)/"
)
_PUBLISHED = compile_lazily(
    r"(^|/)(public|public_html|www|htdocs|wwwroot|gh-pages|_site)/|^/(var/www|srv/(www|http)|usr/share/nginx)/|^/net/|^//",
    re.IGNORECASE,
)
_HISTORY_OF_SHELLS = tuple(name for name in HIDDEN_IN_HOME if name.endswith("history"))


@lru_cache(maxsize=4_096)
def is_secret_place(path: str) -> bool:
    """Return whether a path, relative to the workspace or absolute, holds secrets by its name."""
    name = posixpath.basename(path)
    if path.startswith("/"):
        home = str(find_home())
        if any(_is_at(path, place) for place in HIDDEN):
            return True
        if any(
            _is_at(path, f"{home}/{place}") for place in HIDDEN_IN_HOME if place not in _HISTORY_OF_SHELLS
        ):
            return not name.endswith((".pub", "known_hosts"))
        if re.search(r"(^|/)\.(ssh|aws|gnupg|kube|azure)/", path):
            return not name.endswith((".pub", "known_hosts"))
        if path.startswith("/proc/") and name == "environ":
            return True
    if not _SECRET_FILE.fullmatch(name) or _PUBLIC_FILE.fullmatch(name):
        return False
    return not _FIXTURES.search(path.removeprefix("/") if path.startswith("/") else path)


def is_hook(path: str) -> bool:
    """Return whether a path is a git hook or the configuration of hooks."""
    return bool(_HOOKS.search(path) or _HOOKS.search(f"{path}/")) and not path.endswith(".sample")


def is_hook_script(path: str) -> bool:
    """Return whether a path is a git hook itself: whoever writes it replaces it."""
    return is_hook(path) and "/" in path and not path.endswith((".yaml", ".yml"))


def is_protection(path: str) -> bool:
    """Return whether a path holds settings that limit what a coding agent may do."""
    return bool(_PROTECTION.search(path))


def is_pipeline(path: str) -> bool:
    """Return whether a path is a check of continuous integration or of reviews."""
    return bool(_PIPELINE.search(path) or _PIPELINE.search(f"{path}/workflows/"))


def is_self_starting(path: str) -> bool:
    """Return whether programs act on a path by themselves: at log-in, by a timer, at a git command, in an editor."""
    parts = path.strip("/").split("/")
    if _STARTUP.search(path) or is_hook(path) or parts[-1] in IN_A_HOME:
        return True
    return bool(find_self_run_part(parts)) and not is_pipeline(path)


def is_record(path: str) -> bool:
    """Return whether a path records what was done: git's logs, histories of shells, logs of the system."""
    return bool(_LOGS.search(path))


def is_watched(path: str) -> bool:
    """Return whether writing a path may be a step of a chain."""
    return (
        path.endswith(".gitignore")
        or is_self_starting(path)
        or is_protection(path)
        or is_pipeline(path)
        or is_record(path)
        or is_published(path)
    )


def is_published(path: str) -> bool:
    """Return whether others can read what is written to a path: folders of web servers, network shares."""
    return bool(_PUBLISHED.search(path))


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
