"""Environment of child processes and the files hidden from them. Re-exports redaction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.redaction import (
    MARKER,
    Redactor,
    explain_overwrite,
    find_secrets,
    redact,
    redact_bytes,
    redact_values,
)

__all__ = [
    "MARKER",
    "Redactor",
    "build_child_environment",
    "explain_overwrite",
    "find_home",
    "find_secrets",
    "list_homes",
    "list_secret_paths",
    "redact",
    "redact_bytes",
    "redact_values",
]

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
# In order: user and locale; paths of public certificates, without which nothing verifies behind a company
# proxy; folders and switches without which a project's own toolchain is not found.

PASSED_ON = frozenset(_NAMES.split())
"""Names only: any other variable is withheld, however harmless it sounds."""

_IN_HOME = """
.ssh .gnupg .password-store .aws .azure .kube .docker .terraform.d .oci .fly .minikube
.config/gcloud .config/gh .config/hub .config/glab-cli .config/op .config/rclone .config/doctl .config/patchwright
.config/git/credentials .git-credentials .netrc .npmrc .yarnrc.yml .pypirc .config/pip/pip.conf
.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
.gradle/gradle.properties .composer/auth.json .config/composer/auth.json .nuget/NuGet/NuGet.Config
.terraformrc .vault-token .databrickscfg .pgpass .my.cnf .mylogin.cnf .s3cfg .boto .cloudflared
.local/share/keyrings .local/share/kwalletd .config/sops .age .1password .colima .orbstack .rd
.mozilla .config/google-chrome .config/chromium .config/BraveSoftware .thunderbird snap/firefox
.bash_history .zsh_history .zhistory .history .sh_history .local/share/fish/fish_history .python_history
.node_repl_history .psql_history .mysql_history .sqlite_history .rediscli_history .irb_history .lesshst
.codex .claude .claude.json .config/claude .config/Claude .anthropic .config/anthropic .config/openai .gemini .qwen
.copilot .config/github-copilot .config/opencode .local/share/opencode .config/goose .local/share/goose
.continue .cursor .config/Cursor .config/Code .codeium .aider.conf.yml .config/io.datasette.llm
.huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .kaggle .wandb .config/wandb .replicate
.bitcoin .litecoin .dogecoin .zcash .monero .ethereum .electrum .exodus .config/Exodus .config/Ledger .config/solana
.foundry/keystores .brownie/accounts .near-credentials .aptos .sui .starkli-wallets
.env .curlrc .wgetrc .config/pypoetry/auth.toml .local/share/uv/credentials .hex/hex.config .pub-cache/credentials.json
.sbt/.credentials .ivy2/.credentials .bundle/config .cabal/config .condarc .mambarc .config/NuGet .bunfig.toml
.julia/servers .android/adbkey .config/configstore .config/firebase .config/netlify .netlify .config/vercel .vercel
.local/share/com.vercel.cli .config/heroku .config/ngrok .ngrok2 .config/stripe .config/linode-cli .config/hcloud
.config/scw .ansible .chef .pulumi .config/helm .config/argocd .config/openstack .config/containers .gsutil
.config/Bitwarden .config/1Password .config/keybase .local/share/pass .config/filezilla .config/Slack .config/Signal
.local/share/TelegramDesktop .config/syncthing .config/remmina .vnc .pki .passwd-s3fs .smbcredentials
.msmtprc .mbsyncrc .fetchmailrc .weechat .irssi
"""
HIDDEN_IN_HOME = tuple(_IN_HOME.split())
"""Paths of keys, tokens, cookies, command histories and service sockets on a developer's machine."""

_BY_VARIABLE = {
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "GRADLE_USER_HOME": ("gradle.properties",),
    "COMPOSER_HOME": ("auth.json",),
    "GEM_HOME": ("credentials",),
}
"""Files with keys in the folders that variables name."""

HIDDEN = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/krb5.keytab",
    "/etc/ipsec.secrets",
    "/etc/ppp/chap-secrets",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/NetworkManager/system-connections",
    "/etc/docker/key.json",
    "/etc/mysql/debian.cnf",
    "/etc/postfix/sasl_passwd",
    "/etc/exim4/passwd.client",
    "/etc/ssl/private",
    "/var/run/secrets",
)
"""The same outside the home folder: closed to an ordinary user, and closed by us when root runs commands."""


MORE_NAMES = "PATCHWRIGHT_PASS_ON"
"""Variable in which the user names more variables that commands may see, separated by commas or spaces."""


def build_child_environment(extra: Mapping[str, str], root: Path | None = None) -> dict[str, str]:
    """Return the environment of a command: the allow-listed part of ours, then `extra`. Each sandbox sets TMPDIR.

    root: the workspace, resolved; the PATH names no program in it except those of its own virtual environment
    """
    more = os.environ.get(MORE_NAMES, "").replace(",", " ").split()
    names = [each for each in os.environ if each in PASSED_ON or each.startswith("LC_") or each in more]
    env = {name: os.environ[name] for name in names}
    env["PATH"] = _filter_path_variable(env.get("PATH", os.defpath), root)
    env.update(extra)
    return env


def _filter_path_variable(path: str, root: Path | None) -> str:
    """Return the PATH without `.`, empty and other relative entries, and without the workspace's own
    program folders: otherwise a file called `ls` in a repository would run as `ls`."""
    inside = "" if root is None or find_home().is_relative_to(root) else f"{root}{os.sep}"
    folders = [each for each in path.split(os.pathsep) if each.startswith(os.sep)]
    kept = [each for each in folders if not (inside and _is_planted_folder(each, inside))]
    return os.pathsep.join(kept) or os.defpath


def _is_planted_folder(folder: str, inside: str) -> bool:
    """Return whether a folder is in the workspace; where that is the home itself, its programs are the user's."""
    real = os.path.realpath(folder) if folder.startswith(inside) else _real(folder)
    if not f"{real}{os.sep}".startswith(inside):
        return False
    return not os.path.isfile(os.path.join(os.path.dirname(folder), "pyvenv.cfg"))  # noqa: PTH113, PTH118, PTH120


_real = lru_cache(maxsize=256)(os.path.realpath)
"""For folders outside the workspace, which no command can change: called a dozen times before each command."""


def find_home() -> Path:
    """Return the user's home folder, symbolic links resolved; "/" when HOME names none."""
    return _resolve_home(os.environ.get("HOME") or "~")


@lru_cache(maxsize=8)
def _resolve_home(name: str) -> Path:
    named = Path(name).expanduser()
    return named.resolve() if named.is_absolute() else Path("/")


def list_homes() -> list[Path]:
    """Return the user's home folders: the one that HOME names and, if different, that of the account."""
    return list(dict.fromkeys((find_home(), *_find_account_home(os.getuid()))))


@lru_cache(maxsize=8)
def _find_account_home(user: int) -> tuple[Path, ...]:
    try:
        import pwd

        return (Path(pwd.getpwuid(user).pw_dir).resolve(),)
    except (ImportError, KeyError):  # a user without an account, as in containers
        return ()


def list_secret_paths(hidden: Iterable[Path]) -> list[Path]:
    """Return files and folders that commands may not read, ours (`hidden`) included; existing ones, resolved.

    They are looked for anew when a folder that holds one of these names has changed.
    """
    wanted = _list_secret_names(
        tuple(map(str, list_homes())),
        tuple(map(str, hidden)),
        tuple(os.environ.get(each) for each in _BY_VARIABLE),
    )
    return list(_find_existing(wanted, tuple(get_change_time(each) for each in wanted.parents)))


@dataclass(frozen=True, slots=True)
class _SecretNames:
    """Paths that are closed if they exist, system-wide ones that are closed if we may read them, and the folders
    in which all of them appear."""

    names: tuple[str, ...]
    system: tuple[str, ...]
    parents: tuple[str, ...]


@lru_cache(maxsize=16)
def _list_secret_names(
    homes: tuple[str, ...], hidden: tuple[str, ...], folders: tuple[str | None, ...]
) -> _SecretNames:
    names = [f"{base}/{each}" for base in homes for each in HIDDEN_IN_HOME]
    for folder, files in zip(folders, _BY_VARIABLE.values(), strict=True):
        names += [f"{folder}/{each}" for each in files] if folder else []
    names += hidden
    parents = {os.path.dirname(each) for each in (*names, *HIDDEN)}  # noqa: PTH120
    return _SecretNames(tuple(names), HIDDEN, tuple(sorted({*parents, _HOST_KEYS})))


@lru_cache(maxsize=16)
def _find_existing(wanted: _SecretNames, changed: tuple[int, ...]) -> tuple[Path, ...]:
    """Return the existing paths, links resolved. changed: times of the last changes of the folders"""
    present = [each for each in wanted.names if os.path.exists(each)]  # noqa: PTH110 (many)
    present += [each for each in (*wanted.system, *_list_host_keys()) if os.access(each, os.R_OK)]
    return tuple(Path(each) for each in dict.fromkeys(map(os.path.realpath, present)))


def get_change_time(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 (dozens, before each command)
    except OSError:  # missing, or closed to us
        return 0


_HOST_KEYS = "/etc/ssh"


def _list_host_keys() -> list[str]:
    try:
        return [f"{_HOST_KEYS}/{name}" for name in os.listdir(_HOST_KEYS) if name.endswith("_key")]
    except OSError:  # no server here
        return []
