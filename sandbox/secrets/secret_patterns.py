"""Patterns of keys and tokens: a table of their prefixes, and of the names they are assigned to."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPattern:
    """A kind of secret recognized by its own shape or by the text right before it.

    marks: texts of which one occurs in every such secret; if none does, the pattern is not even tried
    pattern: the redacted part is its group "secret", or all of it
    good: a final check of the match, for patterns that ordinary words match too
    glued: a further check of one directly behind a letter, a digit, `_` or `-`; it gets that character, too
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    good: Callable[[str], bool] = bool
    glued: Callable[[str, str], bool] = lambda value, before: True


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSecret:
    """A kind of secret recognized by the name it is assigned to: `name = value`, `"name": "value"`.

    endings: of the name, in lower case without `_`, `-`, `.` and spaces
    about: text anywhere in the name
    """

    kind: str
    endings: tuple[str, ...]
    about: str = ""
    value: str = ".*"
    good: Callable[[str], bool] = bool


Span = tuple[int, int, str]
"""Start, end and kind."""


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when its mark is first seen: compiling all takes long."""
    return re.compile(pattern, re.ASCII)


def is_random_looking(value: str) -> bool:
    """Return whether letters and digits look random: neither words, nor a placeholder, nor a UUID, nor a counter."""
    return (
        len(set(value)) >= LEAST_DIFFERENT
        and compile_pattern(_TWO_DIGITS).search(value) is not None
        and compile_pattern(_LETTER).search(value) is not None
        and not compile_pattern(_UUID).fullmatch(value)
        and not compile_pattern(_PLACEHOLDER).search(value)
    )


LEAST_DIFFERENT = 9
"""Distinct characters: 16 random hexadecimal digits have 10 different ones, longer and richer texts more."""

_TWO_DIGITS = r"[0-9][^0-9]*[0-9]"

_LETTER = r"[A-Za-z]"

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

_PLACEHOLDER = (
    r"(?i)example|placeholder|changeme|change[-_]me|your[-_]|dummy|redacted"
    r"|x{5}|0{6}|(?:0123|1234)5678|abcdef"
)


def _has_varied_characters(value: str) -> bool:
    """Return False for a name made of words: `sk-chasing-dots-animation`."""
    return len(compile_pattern(_VARIED).findall(value)) >= 4


_VARIED = r"[0-9A-Z]"


def _is_secret_value(value: str) -> bool:
    """Return whether a value with a secret's name looks random, and not like code."""
    return is_random_looking(value) and not compile_pattern(_CODE).search(value)


_CODE = (
    r"^[a-z_]+(?:\.[A-Za-z_]\w*)+$"  # settings.api_key_v2
    r"|^[A-Za-z]{2,}(?:[-_./][A-Za-z]{2,}){1,}[-_./]?\d{0,4}$"  # words-with-dashes-2, some/path_1
    r"|^[A-Za-z][a-z]+(?:[A-Z][a-z]+)+\d{0,2}(?:[A-Z][a-z]+)*$"  # CamelCaseName2
    r"|^[\d.eE+-]+$|^\d{4}-\d\d-\d\d|^https?:|^[./~]+\w+/"  # a date, a URL, a path
)


def _has_random_part(value: str, before: str) -> bool:
    """Return whether a token is unmistakable inside of a word: part of it is no word, number or hash of a word."""
    return any(
        len(part) >= _SHORTEST_PART and is_random_looking(part)
        for part in compile_pattern(r"[A-Za-z0-9]+").findall(value)
    )


_SHORTEST_PART = 10


def _is_clear_key(value: str, before: str) -> bool:
    """Return the same for `sk-`, the end of `task-` and `risk-`, which are often followed by a hash."""
    if compile_pattern(r"sk-(?:ant|proj|or|svcacct|admin|lf|kimi)-").search(value):
        return True
    if before not in "aeiouAEIOU":
        return _has_random_part(value, before)
    parts = [part for part in compile_pattern(r"[A-Za-z0-9]{20,}").findall(value) if is_random_looking(part)]
    return any(not part.islower() and not part.isupper() for part in parts)


def _is_mixed(value: str, before: str) -> bool:
    """Return the same for a prefix that ends no words: behind it are capitals, small letters and digits, or, in tokens
    of letters alone, capitals side by side as no words have them."""
    body = compile_pattern("AIza|[a-z0-9]+_").sub("", value, count=1)
    kinds = sum(compile_pattern(each).search(body) is not None for each in ("[A-Z]", "[a-z]", "[0-9]"))
    return kinds == 3 or len(compile_pattern("[A-Z](?=[A-Z])").findall(body)) >= 3


def _is_any(value: str, before: str) -> bool:
    """Return True: capitals and digits of this length behind such a prefix are nothing else."""
    return True


def _is_never(value: str, before: str) -> bool:
    """Return False: what precedes makes it another word."""
    return False


def _define_token(
    kind: str,
    mark: str,
    rest: str,
    good: Callable[[str], bool] = bool,
    glued: Callable[[str, str], bool] = _has_random_part,
) -> SecretPattern:
    """Define a secret that begins with a prefix of its own.

    The prefix leads the pattern, so that the search runs at the speed of plain text.
    """
    return SecretPattern(kind=kind, marks=(mark,), pattern=f"{re.escape(mark)}{rest}", good=good, glued=glued)


_WORD = r"[A-Za-z0-9_-]"

TOKENS: tuple[SecretPattern, ...] = (
    # Models
    _define_token(
        "OpenAI, Anthropic, DeepSeek or OpenRouter key",
        "sk-",
        _WORD + "{20,}",
        _has_varied_characters,
        _is_clear_key,
    ),
    _define_token("Google API key", "AIza", _WORD + "{35}", glued=_is_mixed),
    _define_token("Google API key", "AQ.Ab", _WORD + "{30,}"),
    _define_token("Google OAuth token", "ya29.", _WORD + "{20,}"),
    _define_token("Google OAuth secret", "GOCSPX-", _WORD + "{20,}"),
    _define_token("Groq key", "gsk_", "[A-Za-z0-9]{40,}"),
    _define_token("xAI key", "xai-", _WORD + "{40,}"),
    _define_token("Together key", "tgp_v1_", _WORD + "{30,}"),
    _define_token("Replicate token", "r8_", "[A-Za-z0-9]{30,}", glued=_is_mixed),
    _define_token("Hugging Face token", "hf_", "[A-Za-z0-9]{30,}", glued=_is_mixed),
    _define_token("Hugging Face token", "api_org_", "[A-Za-z0-9]{30,}"),
    _define_token("Perplexity key", "pplx-", "[A-Za-z0-9]{40,}"),
    _define_token("Cerebras key", "csk-", "[A-Za-z0-9]{40,}"),
    _define_token("Fireworks key", "fw_", "[A-Za-z0-9]{20,}", is_random_looking),
    _define_token("NVIDIA key", "nvapi-", _WORD + "{40,}"),
    _define_token("Tavily key", "tvly-", _WORD + "{20,}", is_random_looking),
    _define_token("LangSmith key", "lsv2_", r"(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{6,}"),
    # Code and packages
    *(_define_token("GitHub token", f"gh{each}_", "[A-Za-z0-9]{30,}", glued=_is_mixed) for each in "pousr"),
    _define_token("GitHub token", "github_pat_", "[A-Za-z0-9_]{30,}"),
    *(
        _define_token("GitLab token", f"gl{each}-", _WORD + r"{20,}(?:\.[A-Za-z0-9_.-]+)?")
        for each in ("pat", "dt", "rt", "ptt", "oas", "cbt", "ft", "imt", "agent", "soat", "ffct")
    ),
    _define_token("Atlassian or Bitbucket token", "ATATT3", "[A-Za-z0-9_=-]{40,}"),
    _define_token("Atlassian or Bitbucket token", "ATCTT3", "[A-Za-z0-9_=-]{40,}"),
    _define_token("Bitbucket token", "ATBB", "[A-Za-z0-9]{28,}", is_random_looking),
    _define_token("npm token", "npm_", "[A-Za-z0-9]{36}", glued=_is_mixed),
    _define_token("PyPI token", "pypi-", _WORD + "{50,}"),
    _define_token("RubyGems key", "rubygems_", "[a-f0-9]{48}"),
    _define_token("crates.io token", "cio", "[A-Za-z0-9]{32}(?![A-Za-z0-9])", is_random_looking),
    _define_token("Docker token", "dckr_pat_", _WORD + "{20,}"),
    _define_token("Docker token", "dckr_oat_", _WORD + "{20,}"),
    _define_token("Postman key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
    # Clouds
    *(
        _define_token("AWS access key", each, "[A-Z0-9]{16}(?![A-Z0-9])", glued=_is_any)
        for each in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    _define_token("AWS Bedrock key", "ABSK", "[A-Za-z0-9+/]{60,}={0,2}"),
    _define_token("Databricks token", "dapi", r"[a-f0-9]{32}(?:-\d+)?"),
    *(_define_token("DigitalOcean token", f"do{each}_v1_", "[a-f0-9]{64}") for each in "opr"),
    _define_token("Heroku key", "HRKU-", _WORD + "{30,}"),
    *(_define_token("Vault token", f"hv{each}.", _WORD + "{20,}") for each in "sbr"),
    SecretPattern(
        kind="Terraform token",
        marks=(".atlasv1.",),
        pattern=r"\.atlasv1\.[\w=-]{60,}",
    ),
    _define_token("Pulumi token", "pul-", "[a-f0-9]{40}"),
    _define_token("Doppler token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    _define_token("PlanetScale token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{32,}"),
    _define_token("Supabase token", "sbp_", "[a-f0-9]{40}"),
    _define_token("Fly.io token", "fm2_", "[A-Za-z0-9+/=_-]{60,}"),
    _define_token("Tailscale key", "tskey-", r"[a-z]+-[A-Za-z0-9-]{20,}"),
    # People and money
    _define_token("Slack token", "xapp-", r"\d-[A-Z0-9]+-\d+-[A-Za-z0-9]{20,}"),
    SecretPattern(
        kind="Slack webhook",
        marks=("hooks.slack.com/",),
        pattern=r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/_-]{30,})",
    ),
    SecretPattern(
        kind="Discord webhook",
        marks=("/api/webhooks/",),
        pattern=r"/api/webhooks/\d{17,20}/(?P<secret>[\w-]{60,})",
    ),
    SecretPattern(
        kind="Discord token",
        marks=(".",),
        pattern=r"[MNO](?<![\w-][MNO])[A-Za-z0-9_-]{23,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])",
        good=is_random_looking,
    ),
    SecretPattern(  # the number of a user in base64: unmistakable inside of a word
        kind="Discord token",
        marks=(".",),
        pattern=r"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5}[A-Za-z0-9_-]{3,8}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
    ),
    SecretPattern(
        kind="Telegram token", marks=(":AA",), pattern=r":(?<=\d{8}:)(?P<secret>AA[A-Za-z0-9_-]{33})(?![\w-])"
    ),
    _define_token("Twilio key", "SK", "[0-9a-f]{32}(?![0-9a-f])"),
    _define_token("SendGrid key", "SG.", r"[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}"),
    *(
        _define_token("Stripe key", f"{who}_{where}_", "[A-Za-z0-9]{16,}", is_random_looking)
        for who in ("sk", "rk")
        for where in ("live", "test", "prod")
    ),
    _define_token("Stripe webhook secret", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    *(_define_token("Shopify token", f"shp{each}_", "[a-fA-F0-9]{32}") for each in ("at", "ca", "pa", "ss")),
    _define_token("Square token", "EAAA", _WORD + "{60}(?![A-Za-z0-9_-])", is_random_looking, _is_never),
    _define_token("Square secret", "sq0csp-", _WORD + "{43}"),
    SecretPattern(
        kind="Mailchimp key",
        marks=tuple(f"-us{digit}" for digit in range(1, 10)),
        pattern=r"[0-9a-f]{32}-us\d{1,2}(?!\w)",
    ),
    _define_token("Mailgun key", "key-", "[0-9a-f]{32}(?![0-9a-f])", glued=_is_never),
    _define_token("New Relic key", "NRAK-", "[A-Z0-9]{27}"),
    _define_token("Grafana token", "glsa_", "[A-Za-z0-9]{32}_[a-fA-F0-9]{8}"),
    _define_token("Grafana token", "glc_", "[A-Za-z0-9+/]{32,}={0,2}"),
    _define_token("Sentry token", "sntrys_", "[A-Za-z0-9+/=_-]{40,}"),
    _define_token("Linear key", "lin_api_", "[A-Za-z0-9]{32,}"),
    _define_token("Notion token", "ntn_", "[A-Za-z0-9]{40,}"),
    _define_token("Figma token", "figd_", _WORD + "{36,}"),
    _define_token("age key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    _define_token("1Password token", "ops_eyJ", _WORD + "{60,}"),
    # Any
    SecretPattern(
        kind="JSON web token",
        marks=("eyJ",),
        pattern=r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{10,}",
    ),
)
"""Texts that are secrets by themselves, wherever they occur."""

_NO_PASSWORDS = {
    "password",
    "pass",
    "passwd",
    "pw",
    "pwd",
    "secret",
    "token",
    "user",
    "xxx",
    "...",
    "…",
    "port",
}

IN_CONTEXT: tuple[SecretPattern, ...] = (
    SecretPattern(kind="Slack token", marks=("xox",), pattern="xox[abceoprs]-[A-Za-z0-9-]{10,}"),
    SecretPattern(
        kind="Azure key",
        marks=("AccountKey=", "SharedAccessKey=", "SharedAccessSignature"),
        pattern=r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{32,}+={0,2})",
    ),
    SecretPattern(
        kind="signature of an Azure address",
        marks=("sig=",),
        pattern=r"[?&]sig=(?P<secret>[A-Za-z0-9%+/]{40,}+(?:%3[Dd]|=){0,2})",
    ),
    SecretPattern(
        kind="Azure client secret",
        marks=("8Q~", "7Q~", "9Q~"),
        pattern=r"[789]Q~(?<=[\w.~-]{3}[789]Q~)[\w.~-]{31,34}(?![\w.~-])",
    ),
    SecretPattern(
        kind="password in an address",
        marks=("://",),
        pattern=r"""://[^\s/:@"'<>{}()\[\]$]{0,128}+:(?P<secret>[^\s/@"'<>{}()\[\]$]{3,256}+)@""",
        good=lambda value: value.lower() not in _NO_PASSWORDS and "*" not in value,
    ),
    SecretPattern(
        kind="Authorization header",
        marks=("uthorization", "UTHORIZATION"),
        pattern=r"""[Aa](?:uthorization|UTHORIZATION)["']?[ \t]{0,4}[:=,][ \t]{0,4}["']?"""
        r"""(?:[Bb]asic|[Bb]earer|BEARER|[Tt]oken|Digest|ApiKey)[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{8,}+=*)""",
        good=lambda value: any(each.isdigit() for each in value) or len(value) >= 24,
    ),
    SecretPattern(
        kind="bearer token",
        marks=("earer ",),
        pattern=r"[Bb]earer (?P<secret>[A-Za-z0-9._~+/-]{20,}+=*)",
        good=_is_secret_value,
    ),
)
"""Texts that are secrets because of the text before them, of which only the value is redacted, and short ones."""

SHAPES = (*TOKENS, *IN_CONTEXT)

NAMED: tuple[NamedSecret, ...] = (
    NamedSecret(
        kind="AWS secret key",
        endings=("secretaccesskey", "secretkey", "sessiontoken", "secret"),
        about="aws",
        value="[A-Za-z0-9/+]{40}|[A-Za-z0-9/+]{200,}={0,2}",
        good=lambda value: compile_pattern(_VARIED).search(value) is not None,
    ),
    NamedSecret(kind="AWS secret key", endings=("secretaccesskey",), value="[A-Za-z0-9/+]{40}"),
    NamedSecret(kind="Heroku key", endings=("key", "token", "heroku"), about="heroku", value=_UUID),
    NamedSecret(
        kind="value with a secret's name",
        endings=(
            *(
                "token",
                "secret",
                "password",
                "passwd",
                "pwd",
                "passphrase",
                "credential",
                "credentials",
                "jwt",
            ),
            *("apikey", "secretkey", "accesskey", "privatekey", "authkey", "signingkey", "encryptionkey"),
            *("accountkey", "masterkey", "secretkeybase"),
        ),
        good=_is_secret_value,
    ),
)
"""Not every key: a sort key, a cache key and a public key are not secret."""
