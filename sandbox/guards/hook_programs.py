"""Files of the work tree that a program runs or obeys by itself, where a hook of git calls the program by name.

Sources: the pages of each program on its configuration, as of 2026-11-29. People edit these files as ordinary code, so
edits are not asked about; a hook does not run outside of the sandbox once one of them has changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

_JS = "{js,cjs,mjs,ts,cts,mts}"
_DATA = "{,.json,.jsonc,.json5,.yaml,.yml,.toml}"

_TABLE = f"""
make gmake | {{GNUm,m,M}}akefile *.mk
just | justfile .justfile *.just
task | {{T,t}}askfile{{,.dist}}.{{yml,yaml}}
rake | {{R,r}}akefile{{,.rb}}
bundle | Gemfile
nox | noxfile.py
tox | tox.{{ini,toml}} setup.cfg
invoke inv | tasks.py tasks/__init__.py invoke.{{yaml,yml,json,py}}
doit | dodo.py
grunt | Gruntfile.{_JS}
gulp | gulpfile.{_JS}
ant | build.xml
mvn mvnw | pom.xml
gradle gradlew | *.gradle *.gradle.kts
sbt | build.sbt project/*.sbt
mix | mix.exs
scons | SConstruct SConscript
ninja | *.ninja
cmake ctest | CMakeLists.txt CMakePresets.json *.cmake
meson | meson.build
bazel | BUILD BUILD.bazel WORKSPACE MODULE.bazel *.bzl
earthly | Earthfile
nix | *.nix
cargo | build.rs Cargo.toml clippy.toml
go golangci-lint | .golangci.{{yml,yaml,toml,json}} .custom-gcl.yml
zig | build.zig
dotnet | Directory.Build.{{props,targets}} *.csproj
docker docker-compose podman | Dockerfile {{docker-,}}compose*.{{yml,yaml}}
mise | {{,.}}mise{{,.*}}.toml .config/mise.toml mise-tasks/* .mise-tasks/* tasks/*
deno | deno.{{json,jsonc}}
turbo nx moon wireit lerna | turbo.json nx.json project.json moon.yml lerna.json
pdm poe hatch taskipy pipenv rye uv | hatch.toml Pipfile poe_tasks.{{toml,yaml,json}}
eslint | eslint.config.{_JS} .eslintrc{{,.js,.cjs,.json,.yaml,.yml}}
prettier pretty-quick | prettier.config.{_JS} .prettierrc{_DATA} .prettierrc.{_JS}
stylelint | stylelint.config.{_JS} .stylelintrc{_DATA} .stylelintrc.{_JS}
oxlint biome xo | {{,.}}oxlintrc.json biome.{{json,jsonc}} xo.config.{_JS} .xo-config.{_JS}
jest | jest.config.{_JS} jest.config.json
vitest vite | {{vitest,vite}}.config.{_JS} vitest.workspace.{_JS}
mocha ava tap | .mocharc{_DATA} .mocharc.{_JS} ava.config.{_JS} .taprc
playwright cypress | playwright.config.{_JS} cypress.config.{_JS}
textlint secretlint remark | .{{textlint,secretlint,remark}}rc{_DATA} .{{textlint,secretlint,remark}}rc.{_JS}
markdownlint markdownlint-cli2 | .markdownlint*.{_JS} .markdownlint*.{{json,jsonc,yaml,yml}}
cspell knip syncpack | {{cspell,knip,syncpack}}.config.{_JS} .{{syncpack,cspell}}rc* {{,.}}cspell.*
tsc | tsconfig*.json
pytest | conftest.py {{,.}}pytest.ini pytest.toml tox.ini setup.cfg
pylint | {{,.}}pylintrc{{,.toml}} setup.cfg tox.ini
flake8 | .flake8 setup.cfg tox.ini
mypy dmypy | {{,.}}mypy.ini setup.cfg
sqlfluff ansible-lint | .sqlfluff .ansible-lint{{,.yml,.yaml}}
rubocop standardrb reek | .rubocop*.yml .standard.yml
php-cs-fixer | .php-cs-fixer{{,.dist}}.php
phpstan | phpstan.neon{{,.dist}} phpstan.dist.neon phpstan.php
psalm phpcs phpunit rector | psalm.xml{{,.dist}} {{,.}}phpcs.xml{{,.dist}} phpunit.xml{{,.dist}} rector.php
"""


@cache
def index_programs() -> Mapping[str, re.Pattern[str]]:
    """Return by program which files it runs or obeys: a pattern for `folder/name`, or a name in any folder."""
    found: dict[str, re.Pattern[str]] = {}
    for line in _TABLE.strip().splitlines():
        programs, names = line.split("|")
        pattern = re.compile(_build_pattern(names.split()))
        found |= dict.fromkeys(programs.split(), pattern)
    return found


@cache
def get_any_pattern() -> re.Pattern[str]:
    """Return the pattern of all of these files."""
    return re.compile("|".join(dict.fromkeys(each.pattern for each in index_programs().values())))


def _build_pattern(names: Sequence[str]) -> str:
    ways = []
    for name in names:
        text = (
            re.escape(name)
            .replace(r"\*", "[^/]*")
            .replace(r"\{", "(?:")
            .replace(r"\}", ")")
            .replace(",", "|")
        )
        ways.append(text if "/" in name else f"(?:[^/]*/)?{text}")
    return "|".join(ways)
