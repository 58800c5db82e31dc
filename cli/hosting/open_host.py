"""The hosting service of a repository: found from its remote, or named by the user's settings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from cli.hosting.gh_client import GhClient
from cli.hosting.gitea_host import Gitea
from cli.hosting.github_host import GitHub
from cli.hosting.gitlab_host import GitLab
from cli.hosting.host import Client, Host
from cli.hosting.rest_client import RestClient
from sandbox.errors import Fault, UserError
from sandbox.helpers.own_programs import find_own_program
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.known_values import register_secrets

Kind = Literal["github", "gitlab", "gitea"]

KNOWN: Mapping[str, Kind] = {
    "github.com": "github",
    "gitlab.com": "gitlab",
    "gitea.com": "gitea",
    "codeberg.org": "gitea",
}
"""Services that need no setting. No other host gets a token: a repository's remote is not the user's word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenVariable:
    """A variable with a token, which is for one host: that of `named_by` where one is set, as the service's own
    programs and pipelines set them, else `host`.

    is_for: whether it is for servers of one's own only, or for GitHub's own hosts only, as `gh` distinguishes them
    """

    name: str
    host: str
    named_by: tuple[str, ...]
    is_for: Literal["any", "servers", "cloud"] = "any"

    def find_host(self, env: Mapping[str, str]) -> str:
        """Return the host that the token is for, "" for none."""
        named = next((env[each] for each in self.named_by if env.get(each)), "")
        if not named:
            return self.host
        host = (urlsplit(named).netloc if "//" in named else named).lower()
        where = "cloud" if host == "github.com" or host.endswith(".ghe.com") else "servers"
        return host if self.is_for in ("any", where) else self.host


_GITHUB = ("GH_HOST", "GITHUB_SERVER_URL")
_GITLAB = ("GITLAB_HOST", "GL_HOST", "CI_SERVER_URL")

TOKENS: Mapping[Kind, tuple[TokenVariable, ...]] = {
    "github": (
        TokenVariable(name="GH_TOKEN", host="github.com", named_by=_GITHUB, is_for="cloud"),
        # A pipeline's own token is for the server that runs it.
        TokenVariable(name="GITHUB_TOKEN", host="github.com", named_by=("GITHUB_SERVER_URL",)),
        TokenVariable(name="GH_ENTERPRISE_TOKEN", host="", named_by=_GITHUB, is_for="servers"),
        TokenVariable(name="GITHUB_ENTERPRISE_TOKEN", host="", named_by=_GITHUB, is_for="servers"),
    ),
    "gitlab": (TokenVariable(name="GITLAB_TOKEN", host="gitlab.com", named_by=_GITLAB),),
    "gitea": (
        TokenVariable(name="GITEA_TOKEN", host="gitea.com", named_by=("GITEA_SERVER_URL",)),
        TokenVariable(name="FORGEJO_TOKEN", host="codeberg.org", named_by=("FORGEJO_SERVER_URL",)),
    ),
}
"""By the kind of the service; the first that is set and for the host counts. None is sent to another host of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A repository at a service.

    host: with its port, if it has one; address: of the API, "" for the usual one
    token_variable: in which the user keeps this host's token, "" for the usual ones
    """

    kind: Kind
    host: str
    name: str
    address: str = ""
    token_variable: str = ""

    @property
    def api(self) -> str:
        """The address of the API."""
        if self.address:
            return self.address.rstrip("/")
        if self.kind == "github":
            return "https://api.github.com" if self.host == "github.com" else f"https://{self.host}/api/v3"
        return f"https://{self.host}/api/{'v4' if self.kind == 'gitlab' else 'v1'}"


def find_place(remote: str, hosting: Mapping[str, str]) -> Place:
    """Return the place of a remote's address. Raises UserError for a host that nobody named.

    hosting: the user's setting: host → kind, followed by the address of the API and `token=VARIABLE` where they are
        not the usual ones
    """
    host, name = parse_remote(remote)
    said = hosting.get(host, "")
    kind_word, *words = said.split() or [""]
    kind = _KINDS.get(kind_word) if said else KNOWN.get(host)
    if kind is None:
        raise UserError(
            Fault.CONFIGURATION,
            f"the service at {host!r} is not known" if not said else f"no kind of service {kind_word!r}",
            f'Name it in your settings: [hosting] {host!r} = "gitlab" (or github, gitea).',
        )
    variable = next((word[6:] for word in words if word.startswith("token=")), "")
    address = next((word for word in words if not word.startswith("token=")), "")
    return Place(kind=kind, host=host, name=name, address=address, token_variable=variable)


def parse_remote(remote: str) -> tuple[str, str]:
    """Return host and name of a remote's address, as git writes it or as a page shows it. Raises UserError."""
    text = remote.strip()
    if found := re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)", text):  # scp's form
        host, path = found[1], found[2]
    else:
        parts = urlsplit(text)
        if parts.scheme not in ("https", "http", "ssh", "git") or not parts.hostname:
            raise UserError(
                Fault.USAGE,
                f"the remote {remote!r} is at no hosting service" if text else "there is no remote `origin`",
                "Add one: git remote add origin URL",
            )
        web = parts.scheme in ("https", "http") and parts.port
        host, path = f"{parts.hostname}:{parts.port}" if web else parts.hostname, parts.path
    name = path.strip("/").removesuffix(".git")
    if not re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+", name) or ".." in name.split("/"):
        raise UserError(Fault.USAGE, f"the remote {remote!r} names no repository")
    return host.lower(), name


def open_host(place: Place, root: Path, env: Mapping[str, str]) -> Host:
    """Return the repository of a place, with the user's login. Raises UserError without one."""
    return _HOSTS[place.kind](client=_open_client(place, root, env), name=place.name)


def _open_client(place: Place, root: Path, env: Mapping[str, str]) -> Client:
    token = _find_token(place, env) or _read_keyring(place.host)
    if place.kind == "github" and not place.address:
        program = find_own_program("gh", root)
        if program is not None:
            return GhClient(program=program, host=place.host)
    if token:
        register_secrets({f"{place.kind.upper()}_TOKEN": token})
    elif place.kind != "github":
        raise UserError(
            Fault.CREDENTIALS,
            f"no token for {place.host}",
            f"Store one: keyring set patchwright {place.host}; or name its variable in your settings: "
            f'[hosting] {place.host!r} = "{place.kind} token=VARIABLE".',
        )
    headers = {"PRIVATE-TOKEN": token} if place.kind == "gitlab" else {"Authorization": f"token {token}"}
    return RestClient(address=place.api, headers=headers if token else {})


def _find_token(place: Place, env: Mapping[str, str]) -> str:
    """Return the token that the environment has for this host, "" if it has none."""
    if place.token_variable:
        return env.get(place.token_variable, "")
    fitting = (each.name for each in TOKENS[place.kind] if each.find_host(env) == place.host)
    return next((env[name] for name in fitting if env.get(name)), "")


def _read_keyring(host: str) -> str:
    """Return the token in the desktop's keyring, where the package `keyring` is installed; "" without one."""
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return ""
    try:
        return str(keyring.get_password("patchwright", host) or "")
    except keyring.errors.KeyringError:  # no desktop, or it is locked
        return ""


_KINDS: Mapping[str, Kind] = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}

_HOSTS: Mapping[Kind, Callable[..., Host]] = {"github": GitHub, "gitlab": GitLab, "gitea": Gitea}
