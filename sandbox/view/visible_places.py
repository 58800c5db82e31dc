"""Tables of the places that commands can see: system folders, and toolchains and caches of a home folder."""

from __future__ import annotations

SYSTEM = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt"),
    *("/nix", "/gnu", "/snap", "/sys"),
)
"""Top-level folders of programs and their settings. /nix and /gnu hold all programs of NixOS and Guix."""

SYSTEM_DATA = (
    *("/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/db/pkg", "/var/lib/alternatives"),
    *("/var/lib/ca-certificates", "/var/cache/fontconfig", "/var/lib/texmf", "/var/cache/texmf"),
    *("/var/lib/aspell", "/var/lib/ispell", "/var/lib/dictionaries-common", "/var/lib/gems", "/var/lib/ghc"),
    *("/var/opt", "/var/usrlocal", "/var/guix/profiles"),
    *("/run/current-system", "/run/opengl-driver"),
)
"""Parts of the emptied /var and /run that programs read: databases of packages, certificates, fonts, TeX,
dictionaries; the targets of /opt and /usr/local on systems with an immutable /usr; the profiles of Guix and NixOS."""

SYSTEM_OF_MACOS = (
    *("/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks", "/Library/Java"),
    *("/Applications/Xcode.app", "/Applications/Xcode-beta.app", "/private/etc", "/private/var/select"),
    *("/private/var/db/dyld", "/private/var/db/timezone", "/private/var/db/xcode_select_link"),
)
"""The same of macOS: frameworks, Apple's and installed ones, the developer tools, the choice of `/bin/sh` and of the
tools, time zones."""

_TOOLCHAINS = """
.rustup .juliaup .elan .ghcup .choosenim .swiftly .zvm .moon .proto .wasmtime .wasmer
.pyenv .rye .pixi .local/share/uv .local/share/virtualenvs .local/share/virtualenv .local/share/pipx
.local/share/hatch .local/share/rye .virtualenvs .conda miniconda3 anaconda3 miniforge3 mambaforge micromamba
.nvm .fnm .volta .nodenv .npm-global .npm-packages n .local/share/fnm
.local/share/pnpm .local/share/mise .local/share/rtx .asdf .tfenv .tenv
.rbenv .rvm .phpenv .plenv .goenv .gvm .g sdk perl5 R
.sdkman .jenv .jabba .jdks Android/Sdk flutter .dotnet .opam .luarocks emsdk .TinyTeX texmf .foundry/bin
.config/composer/vendor .composer/vendor .config/yarn/global .linuxbrew .local/bin .local/lib .config/git/ignore
"""
TOOLCHAINS_IN_HOME = tuple(_TOOLCHAINS.split())
"""Folders below a home that hold programs and libraries, and the user's list of files that git ignores."""

_CACHES = """
.cargo .npm .yarn .pnpm-store .bun .deno .node-gyp .m2 .gradle .ivy2 .sbt .coursier .konan .android
.gem .bundle go .nuget/packages .stack .cabal .julia .mix .hex .pub-cache .composer/cache .cpan .cpanm
.conan .conan2 .vcpkg .mamba .platformio .arduino15 .emscripten_cache .svm .solc-select .keras
nltk_data scikit_learn_data
.cache/pip .cache/uv .cache/pypoetry .cache/pdm .cache/hatch .cache/pipenv .cache/pip-tools .cache/virtualenv
.cache/pre-commit .cache/rattler .cache/conda .cache/mamba .cache/go-build .cache/golangci-lint .cache/yarn
.cache/pnpm .cache/node .cache/node-gyp .cache/npm .cache/bun .cache/deno .cache/electron .cache/electron-builder
.cache/ms-playwright .cache/puppeteer .cache/Cypress .cache/selenium .cache/coursier .cache/bazel
.cache/bazelisk .cache/ccache .cache/sccache .cache/zig .cache/composer .cache/rubocop_cache .cache/fontconfig
.cache/matplotlib .cache/huggingface .cache/torch .cache/cabal .cache/kotlin-language-server .cache/nix
.local/share/gem .local/state/cabal .local/state/nix
"""
CACHES_IN_HOME = tuple(_CACHES.split())
"""Folders below a home with downloaded packages and results, in which tools take locks and store more. Some have
programs in them too."""

NEVER_BY_VARIABLE = frozenset(
    {
        *("/", "/home", "/root", "/srv", "/mnt", "/media", "/tmp", "/run", "/var", "/var/tmp", "/var/lib"),
        *(
            "/var/cache",
            "/var/log",
            "/var/mail",
            "/var/spool",
            "/proc",
            "/dev",
            "/boot",
            "/Users",
            "/run/user",
        ),
    }
)
"""Folders that hold more than a toolchain: a variable that names one shows nothing."""
