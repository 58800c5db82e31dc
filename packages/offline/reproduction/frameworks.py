"""What a snippet leaves unsaid in some frameworks: settings, tables, names that a session always has."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field

from packages.offline.reproduction.report.report_fields import Exchange
from packages.offline.reproduction.report.text_elements import parse_code
from sandbox.lazy_dataclass import dataclass

_DJANGO_SETTINGS = """\
import django
from django.conf import settings
if not settings.configured:
    settings.configure(
        SECRET_KEY="reproduction",
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=[
            "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
            "django.contrib.messages", "django.contrib.admin", "django.contrib.staticfiles", __name__,
        ],
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
        STATIC_URL="/static/",
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    )
    django.setup()
    from django.core.management import call_command
    call_command("migrate", run_syncdb=True, verbosity=0)"""

_DJANGO_TABLES = """\
def create_table(model):
    from django.db import connection
    if hasattr(model, "_meta") and not model._meta.abstract and not model._meta.proxy:
        with connection.schema_editor() as editor:
            editor.create_model(model)"""

_MANAGED = """\
import re
from pathlib import Path
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", {module!r})
import django
django.setup()"""

_LETTERS = (
    {each: f"from sympy.abc import {each}" for each in "abcdefghijklmnopqrstuvwxyzABDFGHJKLMPRTUVWXYZ"}
    | {each: f"from sympy import Function\n{each} = Function({each!r})" for each in "fgh"}
    | {
        each: f"from sympy.abc import {each}"
        for each in [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "theta",
            "lamda",
            "mu",
            "nu",
            "xi",
            "rho",
            "sigma",
            "tau",
            "phi",
            "chi",
            "psi",
            "omega",
        ]
    }
    | {each: f"from sympy import Symbol\n{each} = Symbol({each!r}, integer=True)" for each in "kmn"}
)
"""The names of sympy's own interactive session, and its module of symbols."""

_DJANGO_NAMES = {
    "models": "from django.db import models",
    "admin": "from django.contrib import admin",
    "User": "from django.contrib.auth.models import User",
    "connection": "from django.db import connection",
    "timezone": "from django.utils import timezone",
    "_": "from django.utils.translation import gettext_lazy as _",
    "TestCase": "from django.test import TestCase",
    "SimpleTestCase": "from django.test import SimpleTestCase",
    "Count": "from django.db.models import Count",
    "F": "from django.db.models import F",
    "Q": "from django.db.models import Q",
    "Value": "from django.db.models import Value",
    "Template": "from django.template import Template",
    "Context": "from django.template import Context",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """What the snippets of one package need.

    setup: statements before them; known: name → its import; letters: the same, used when nothing else has the name
    """

    setup: tuple[str, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    has_tables: bool = False


PLAIN = Framework()
FRAMEWORKS: Mapping[str, Framework] = {
    "sympy": Framework(letters=_LETTERS),
    "django": Framework(setup=(_DJANGO_SETTINGS, _DJANGO_TABLES), known=_DJANGO_NAMES, has_tables=True),
}


def choose_framework(packages: Sequence[str], source: str, settings_module: str = "") -> Framework:
    """Return the framework of the project, or one that the code imports.

    settings_module: of a Django project, as its manage.py names it; "" for none
    """
    if settings_module:
        return Framework(setup=(_MANAGED.format(module=settings_module),), known=_DJANGO_NAMES)
    for name, framework in FRAMEWORKS.items():
        if name in packages or f"import {name}" in source or f"from {name}" in source:
            return framework
    return PLAIN


def add_tables(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Return the statements with a table for each model class that they define."""
    found: list[Exchange] = []
    models = {"Model"}
    for each in exchanges:
        found.append(each)
        tree = parse_code(each.source)
        for node in tree.body if tree else ():
            if isinstance(node, ast.ClassDef) and any(
                ast.unparse(b).split(".")[-1] in models for b in node.bases
            ):
                models.add(node.name)
                found.append(Exchange(source=f"create_table({node.name})"))
    return found
