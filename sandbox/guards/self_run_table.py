"""Table of what programs run or obey by themselves: names of files and folders, each with its source and date.

A line is `kind | program | names | keys | source | date`; an indented one continues the line before.

names: `name` a file, `name/` a folder with all that is in it, `folder/name` an entry of a folder whose others are
    harmless; `{a,b}` alternatives, `*` any characters; `~` before a name: programs write it themselves, so that only
    edits are guarded, and commands may
keys: tables and fields of manifests which people edit as ordinary code, as `package.json:lint-staged`: they count for
    hooks of git

Not in it: files that people edit as ordinary code and run by name (`Makefile`, `package.json`, `conftest.py`).
"""

from __future__ import annotations


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HOOKS = "git hooks"
"""Kind of the managers of git's hooks, and of what these call: they run at each commit."""

TABLE = """
Patchwright | Patchwright | .patchwright/ patchwright.toml | | docs/configuration.md | 2026-11-29

editors | VS Code | .vscode/ *.code-workspace | | https://code.visualstudio.com/docs/editor/tasks | 2026-11-29
editors | Visual Studio | ~.vs/ | | https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks |
    2026-11-29
editors | JetBrains | .idea/ .fleet/ .run/ .ideavimrc | |
    https://www.jetbrains.com/help/idea/run-debug-configuration.html | 2026-11-29
editors | Zed | .zed/ | | https://zed.dev/docs/tasks | 2026-11-29
editors | Dev Containers | .devcontainer/ .devcontainer.json | | https://containers.dev/implementors/spec | 2026-11-29
editors | Sublime Text | *.sublime-project | | https://www.sublimetext.com/docs/projects.html | 2026-11-29
editors | Vim, Neovim | .exrc .vimrc .gvimrc .nvimrc .nvim.lua .lvimrc .local.vimrc .vim/ .nvim/ .vimspector.json | |
    https://neovim.io/doc/user/options.html#'exrc' | 2026-11-29
editors | Emacs | .dir-locals.el .dir-locals-2.el .projectile | |
    https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html | 2026-11-29
editors | Helix | .helix/ | | https://docs.helix-editor.com/configuration.html | 2026-11-29
editors | Kakoune, Kate | .kakrc .kateproject | | https://docs.kde.org/stable5/en/kate/kate | 2026-11-29
editors | Nova | .nova/ | | https://help.nova.app/projects | 2026-11-29
editors | Eclipse | .externalToolBuilders/ ~.settings/ ~.project ~.factorypath | |
    https://help.eclipse.org/latest/topic/org.eclipse.platform.doc.user/concepts/concepts-exttools.htm | 2026-11-29
editors | language servers | .ycm_extra_conf.py .clangd .luarc.json .luarc.jsonc .ropeproject/config.py
    .lsp/config.edn | | https://clangd.llvm.org/config https://luals.github.io/wiki/configuration | 2026-11-29
editors | build servers | ~.bsp/ ~.bloop/ ~.metals/ | |
    https://build-server-protocol.github.io/docs/overview/server-discovery | 2026-11-29
editors | cloud workspaces | .gitpod.yml .gitpod.Dockerfile .ona/ .replit replit.nix .idx/ .codesandbox/ .stackblitzrc
    devfile.yaml .devfile.yaml | | https://www.gitpod.io/docs/references/gitpod-yml | 2026-11-29
editors | Xcode | .xcode.env .xcode.env.local | | https://reactnative.dev/docs/set-up-your-environment | 2026-11-29

debuggers and shells of languages | GDB, LLDB | .gdbinit .lldbinit | |
    https://sourceware.org/gdb/current/onlinedocs/gdb.html/Init-File-in-the-Current-Directory.html | 2026-11-29
debuggers and shells of languages | Python | .pdbrc .pdbrc.py ipython_config.py
    jupyter_{config,server_config,notebook_config,lab_config}.{py,json} | | https://docs.python.org/3/library/pdb.html
    https://ipython.readthedocs.io/en/stable/config/intro.html | 2026-11-29
debuggers and shells of languages | R | .Rprofile .Renviron | |
    https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html | 2026-11-29
debuggers and shells of languages | Ruby | .irbrc .pryrc .rdbgrc .rdbgrc.rb .byebugrc | | https://github.com/ruby/irb
    | 2026-11-29
debuggers and shells of languages | others | .ghci .iex.exs .octaverc .sbtrc | |
    https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html#the-ghci-and-haskeline-files | 2026-11-29

version control | Mercurial, Sapling | .hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .sl/config .sl/hgrc | |
    https://www.mercurial-scm.org/doc/hgrc.5.html | 2026-11-29
version control | Subversion | .svn/ | | https://svnbook.red-bean.com/en/1.7/svn.ref.properties.html | 2026-11-29
version control | Jujutsu | .jj/ | | https://docs.jj-vcs.dev/latest/config/ | 2026-11-29
version control | Bazaar, Breezy | .bzr/ | | https://www.breezy-vcs.org/doc/en/user-guide/hooks.html | 2026-11-29
version control | Fossil | .fossil-settings/ .fslckout _FOSSIL_ | |
    https://fossil-scm.org/home/doc/trunk/www/settings.wiki | 2026-11-29
version control | Darcs, Pijul | _darcs/prefs .pijul/config | | https://darcs.net/Using/Configuration | 2026-11-29
version control | CVS, Perforce | CVS/Root .cvsrc .p4config .p4enviro | |
    https://help.perforce.com/helix-core/server-apps/cmdref/current/Content/CmdRef/P4CONFIG.html | 2026-11-29
version control | repo, Arcanist, Git LFS | .repo/ .arcconfig .arclint .arcunit .lfsconfig | |
    https://gerrit.googlesource.com/git-repo/+/HEAD/docs/repo-hooks.md | 2026-11-29

git hooks | git | .githooks/ .git-hooks/ .hooks/ | | https://git-scm.com/docs/githooks | 2026-11-29
git hooks | pre-commit | .pre-commit-config.{yaml,yml} .pre-commit-hooks.{yaml,yml} | pyproject.toml:tool.pre-commit |
    https://pre-commit.com | 2026-11-29
git hooks | prek | {,.}prek.{toml,yaml,yml} .prekignore | | https://prek.j178.dev/configuration | 2026-11-29
git hooks | husky | .husky/ .huskyrc{,.json,.yaml,.yml,.js,.cjs,.mjs,.ts,.mts} husky.config.{js,cjs,mjs} |
    package.json:husky | https://typicode.github.io/husky | 2026-11-29
git hooks | lefthook | .lefthook/ .lefthook-local/ {,.}lefthook{,-local}.{yml,yaml,toml,json,jsonc}
    .config/lefthook{,-local}.{yml,yaml,toml,json,jsonc} lefthook*.{yml,yaml} | | https://lefthook.dev/configuration |
    2026-11-29
git hooks | overcommit | .overcommit.yml .local-overcommit.yml .overcommit-local.yml .overcommit/ | |
    https://github.com/sds/overcommit | 2026-11-29
git hooks | simple-git-hooks | {,.}simple-git-hooks.{js,cjs,mjs,ts,cts,mts,json,yml,yaml} |
    package.json:simple-git-hooks | https://github.com/toplenboren/simple-git-hooks | 2026-11-29
git hooks | yorkie, ghooks, pre-commit of npm | | package.json:gitHooks package.json:config.ghooks
    package.json:pre-commit package.json:pre-push package.json:precommit | https://github.com/yyx990803/yorkie |
    2026-11-29
git hooks | lint-staged | .lintstagedrc{,.json,.jsonc,.json5,.yaml,.yml,.js,.cjs,.mjs,.ts,.cts,.mts}
    lint-staged.config.{js,cjs,mjs,ts,cts,mts,json} | package.json:lint-staged package.yaml:lint-staged
    package.yml:lint-staged package.json5:lint-staged |
    https://github.com/lint-staged/lint-staged | 2026-11-29
git hooks | nano-staged | {,.}nano-staged.{js,cjs,mjs,ts,json} .nanostagedrc | package.json:nano-staged |
    https://github.com/usmanyunusov/nano-staged | 2026-11-29
git hooks | commitlint | .commitlintrc{,.toml,.json,.yaml,.yml,.js,.cjs,.mjs,.ts,.cts,.mts}
    commitlint.config.{js,cjs,mjs,ts,cts,mts} | package.json:commitlint package.yaml:commitlint |
    https://commitlint.js.org/reference/configuration.html | 2026-11-29
git hooks | commitizen | {,.}cz.{toml,json,yaml} .czrc .cz-config.{js,cjs} cz.config.{js,cjs,mjs,ts,mts}
    .cz-configrc{,.js,.json} | package.json:config.commitizen package.json:config.cz-customizable
    pyproject.toml:tool.commitizen | https://commitizen-tools.github.io/commitizen
    https://github.com/commitizen/cz-cli | 2026-11-29
git hooks | git-cliff | {,.}cliff.{toml,yaml,yml} .config/cliff.toml | pyproject.toml:tool.git-cliff
    Cargo.toml:package.metadata.git-cliff Cargo.toml:workspace.metadata.git-cliff |
    https://git-cliff.org/docs/configuration | 2026-11-29
git hooks | cocogitto, gitlint, convco | {,.}cog.toml .gitlint .versionrc{,.json,.js,.cjs,.mjs} |
    pyproject.toml:tool.gitlint package.json:standard-version | https://docs.cocogitto.io
    https://jorisroovers.com/gitlint | 2026-11-29
git hooks | hk | hk.pkl hk.local.pkl .hk.pkl .hkrc.pkl .config/hk.pkl hk.{toml,yaml,yml,json} | |
    https://hk.jdx.dev/configuration.html | 2026-11-29
git hooks | rusty-hook, cargo-husky | {,.}rusty-hook.toml .cargo-husky/ | Cargo.toml:package.metadata.precommit |
    https://github.com/swellaby/rusty-hook | 2026-11-29
git hooks | CaptainHook, GrumPHP, composer | {,.}captainhook{,.config}.json .grumphp.{yml,yaml}
    grumphp.{yml,yaml,yml.dist,dist.yml} |
    composer.json:extra.hooks composer.json:extra.captainhook composer.json:extra.grumphp | https://captainhook.info
    https://github.com/phpro/grumphp | 2026-11-29
git hooks | Husky.Net, mookme, vite-plus | .mooks/ .mookme.json .vite-hooks/ | package.json:mookme |
    https://alirezanet.github.io/Husky.Net | 2026-11-29
git hooks | autohooks | | pyproject.toml:tool.autohooks | https://greenbone.github.io/autohooks/configuration.html |
    2026-11-29
git hooks | bun-git-hooks, githooks of npm | git-hooks.{ts,js,mjs,cjs,mts,cts,json} git-hooks.config.{ts,js,mjs,cjs}
    git-hooks.config.{mts,cts,json} githooks.config.{ts,js,mjs,cjs,mts,json} | package.json:git-hooks |
    https://github.com/stacksjs/bun-git-hooks https://npmjs.com/package/@funish/githooks | 2026-11-29
git hooks | treefmt | {,.}treefmt.toml | | https://treefmt.com/latest/getting-started/configure | 2026-11-29
git hooks | Trunk, qlty, MegaLinter, reviewdog | .trunk/trunk.yaml .trunk/user_trunk.yaml .qlty/qlty.toml
    .mega-linter.yml .reviewdog.{yml,yaml} | | https://docs.trunk.io/cli https://docs.qlty.sh/qlty-toml | 2026-11-29
git hooks | Danger, semantic-release, release-it | Dangerfile dangerfile.{js,ts}
    .releaserc{,.json,.yaml,.yml,.js,.cjs,.mjs} release.config.{js,cjs,mjs,ts}
    .release-it.{json,js,cjs,ts,yaml,yml,toml} | package.json:release package.json:release-it |
    https://semantic-release.gitbook.io/semantic-release/usage/configuration | 2026-11-29

shells and version managers | direnv, autoenv | .envrc .envrc.local .autoenv .autoenv.zsh .autoenv_leave.zsh
    .env.leave .shadowenv.d/ | | https://direnv.net/man/direnv.1.html | 2026-11-29
shells and version managers | mise | .mise/ .rtx/ mise.toml mise.*.toml .mise.toml .mise.*.toml .miserc.toml .rtx.toml
    .config/mise.toml .config/mise | | https://mise.jdx.dev/configuration.html | 2026-11-29
shells and version managers | others | .flox/ .rvmrc .powrc .powenv .prototools devbox.json devenv.nix devenv.yaml
    devenv.local.nix rust-toolchain rust-toolchain.toml | | https://rust-lang.github.io/rustup/overrides.html
    https://www.jetify.com/devbox/docs | 2026-11-29
shells and version managers | terminals | .warp/ .tmuxinator.yml .tmuxp.{yaml,yml,json} .zellij/ | |
    https://docs.warp.dev/features/warp-drive | 2026-11-29

package managers | npm, Yarn, pnpm, Bun | .npmrc .yarnrc .yarnrc.yml .pnpmfile.{cjs,mjs} pnpmfile.js bunfig.toml
    .bunfig.toml | | https://docs.npmjs.com/cli/configuring-npm/npmrc https://pnpm.io/pnpmfile
    https://bun.sh/docs/runtime/bunfig | 2026-11-29
package managers | Bundler, conda, pip, pixi | .bundle/config .gemrc .condarc .pypirc .pip/ .pixi/config.toml | |
    https://bundler.io/man/bundle-config.1.html | 2026-11-29
build tools | Cargo | ~.cargo/config ~.cargo/config.toml | | https://doc.rust-lang.org/cargo/reference/config.html |
    2026-11-29
build tools | Maven, sbt, Gradle | .mvn/ .sbtopts .jvmopts .gradle/config.properties .gradle/init.d
    .gradle/init.gradle | | https://maven.apache.org/configure.html | 2026-11-29
build tools | Bazel, Buck, Please | .bazelrc .bazeliskrc user.bazelrc tools/bazel .buckconfig .buckconfig.local
    .buckconfig.d/ .plzconfig .plzconfig.local | | https://bazel.build/run/bazelrc
    https://github.com/bazelbuild/bazelisk | 2026-11-29
build tools | MSBuild | Directory.Build.rsp MSBuild.rsp .config/dotnet-tools.json | |
    https://learn.microsoft.com/visualstudio/msbuild/msbuild-response-files | 2026-11-29
build tools | Task, PHP | .taskrc.yml .taskrc.yaml .user.ini | | https://taskfile.dev/reference/config | 2026-11-29

coding agents | Model Context Protocol | .mcp.json .mcp/ | | https://modelcontextprotocol.io | 2026-11-29
coding agents | Claude Code | .claude/settings*.json .claude/hooks .claude/hooks.json .claude/mcp.json .claude.json
    .claude-plugin/ | | https://code.claude.com/docs/en/settings | 2026-11-29
coding agents | Cursor | .cursor/mcp.json .cursor/hooks.json .cursor/hooks .cursor/environment.json .cursor/cli.json
    .cursor/worktrees.json .cursor/sandbox.json .cursor/permissions.json | | https://cursor.com/docs/agent/hooks |
    2026-11-29
coding agents | Gemini CLI, Qwen Code, iFlow | .gemini/settings.json .gemini/hooks .gemini/extensions .gemini/policies
    .qwen/settings.json .qwen/hooks .qwen/extensions .iflow/settings.json | |
    https://geminicli.com/docs/reference/configuration | 2026-11-29
coding agents | Codex | .codex/config.toml .codex/hooks.json .codex/hooks .codex/rules .codex/environments | |
    https://developers.openai.com/codex/config-reference | 2026-11-29
coding agents | OpenCode, Crush | .opencode/ opencode.json opencode.jsonc {,.}crush.json .crush/ | |
    https://opencode.ai/docs/config https://github.com/charmbracelet/crush | 2026-11-29
coding agents | Antigravity, Devin | .agents/mcp_config.json .agents/plugins .agent/ .devin/ | |
    https://antigravity.google/docs https://docs.devin.ai/cli/extensibility/hooks | 2026-11-29
coding agents | Pi, Oh My Pi | .pi/extensions .pi/settings.json .pi/tools .omp/ | |
    https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/extensions.md | 2026-11-29
coding agents | Conductor, hooks-mcp | conductor.json .conductor/ hooks_mcp.{yaml,yml} | |
    https://docs.conductor.build https://github.com/scosman/hooks_mcp | 2026-11-29
coding agents | Kiro, Amazon Q | .kiro/settings .kiro/hooks .kiro/agents .amazonq/mcp.json .amazonq/default.json
    .amazonq/cli-agents .amazonq/agents | | https://kiro.dev/docs/hooks | 2026-11-29
coding agents | Cline, Roo Code, Kilo Code | .cline/ .clinerules/hooks .roo/mcp.json .roo/tools .roomodes
    .kilocode/mcp.json .kilocodemodes .kilo/plugin* .kilo/tool* .kilo/kilo.json*
    kilo.{json,jsonc} | | https://docs.cline.bot/features/hooks | 2026-11-29
coding agents | Windsurf, Trae, Junie | .windsurf/hooks.json .windsurf/mcp_config.json .codeium/ .trae/mcp.json
    .junie/mcp | | https://docs.windsurf.com/windsurf/cascade/hooks | 2026-11-29
coding agents | Aider | .aider.conf.yml .aider.model.settings.yml .aider.model.metadata.json | |
    https://aider.chat/docs/config/aider_conf.html | 2026-11-29
coding agents | Continue | .continue/config.* .continue/mcpServers .continue/mcpServers.* .continuerc.json | |
    https://docs.continue.dev/reference | 2026-11-29
coding agents | GitHub Copilot | .copilot/ | | https://docs.github.com/copilot/how-tos/use-copilot-agents | 2026-11-29
coding agents | Factory, Augment, Amp, CodeBuddy, Grok | .factory/mcp.json .factory/settings*.json .factory/hooks
    .factory/hooks.json .augment/settings*.json .amp/settings.json .amp/plugins .codebuddy/settings*.json
    .codebuddy/hooks .grok/settings.json | | https://docs.factory.ai/cli/configuration/hooks-guide | 2026-11-29
coding agents | OpenHands, Goose, Vibe, Kimi | .openhands/ .goose/ .vibe/config.toml .vibe/hooks* .vibe/tools .kimi/
    .forge.yaml forge.yaml .letta/ .serena/project.yml | |
    https://docs.openhands.dev/openhands/usage/customization/repository | 2026-11-29
coding agents | shared | .agents/hooks .agents/hooks.json .agents/mcp.json .agents/settings.json | | https://agents.md
    | 2026-11-29

continuous integration | GitHub, Gitea, Forgejo | .github/ .gitea/ .forgejo/ | |
    https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax | 2026-11-29
continuous integration | GitLab | .gitlab-ci.{yml,yaml} .gitlab/ | | https://docs.gitlab.com/ci/yaml | 2026-11-29
continuous integration | CircleCI, Travis, AppVeyor, Cirrus | .circleci/ .travis.yml {,.}appveyor.yml .cirrus.yml
    .cirrus.star | | https://circleci.com/docs/reference/configuration-reference | 2026-11-29
continuous integration | Jenkins, TeamCity, Buildkite | Jenkinsfile .teamcity/ .buildkite/ | |
    https://www.jenkins.io/doc/book/pipeline/jenkinsfile | 2026-11-29
continuous integration | Drone, Woodpecker, Harness | .drone.{yml,yaml,jsonnet,star} .woodpecker/ .woodpecker*.yml
    .woodpecker*.yaml .harness/ | | https://woodpecker-ci.org/docs/usage/workflow-syntax | 2026-11-29
continuous integration | Azure | .azure-pipelines/ .azuredevops/ azure-pipelines*.yml azure-pipelines*.yaml
    .vsts-ci.yml | | https://learn.microsoft.com/azure/devops/pipelines/yaml-schema | 2026-11-29
continuous integration | Bitbucket, Semaphore, SourceHut, Tekton | bitbucket-pipelines.{yml,yaml} .semaphore/ .builds/
    .build.yml .tekton/ | | https://man.sr.ht/builds.sr.ht | 2026-11-29
continuous integration | Google, AWS, Codemagic, Bitrise | cloudbuild.{yaml,yml,json} .kokoro/ buildspec.{yml,yaml}
    appspec.yml amplify.yml .ebextensions/ codemagic.yaml {,.}bitrise.yml | |
    https://cloud.google.com/build/docs/build-config-file-schema | 2026-11-29
continuous integration | Zuul, Packit, Evergreen | {,.}zuul.yaml {,.}zuul.d/ {,.}packit.{yaml,yml} {,.}evergreen.yml
    .copr/ .obs/ | | https://zuul-ci.org/docs/zuul/latest/project-config.html | 2026-11-29
continuous integration | Read the Docs, Renovate, Mergify | {,.}readthedocs.{yml,yaml} renovate.{json,json5}
    .renovaterc{,.json,.json5} .mergify.yml | | https://docs.readthedocs.com/platform/stable/config-file/v2.html |
    2026-11-29
"""

AGENT_SETTINGS = _split_words("""
    mcp mcp_config mcp-config mcpservers mcp-servers mcp_servers hook hooks setting settings
    config
""")
"""Names, without their endings, on which a coding agent acts whose folder the table knows: the next version may."""

UNKNOWN = AGENT_SETTINGS | _split_words(
    "task tasks launch startup autorun plugin plugins extension extensions"
)
"""Names, without their endings, on which a program probably acts in a dot folder that the table does not know."""

AGENT_FOLDERS = _split_words("""
    .claude .cursor .gemini .codex .kiro .kilo .roo .windsurf .amazonq .qwen .iflow .factory .augment .amp .codebuddy
    .grok .vibe .agents .pi .trae .junie .kilocode .clinerules .continue .serena
""")
"""Folders of coding agents, in which people also keep instructions, plans and rules as ordinary texts."""

HARMLESS_FOLDERS = _split_words("""
    . .. .git .config .hg .sl
    .pijul .trunk .qlty .lsp .ropeproject .bundle .pixi .gradle .venv .tox .nox .cache .mypy_cache .pytest_cache
    .ruff_cache .hypothesis .eggs .ipynb_checkpoints .virtualenvs .next .nuxt .output .svelte-kit .angular
    .astro .parcel-cache .turbo .vite .vercel .netlify .wrangler .expo .docusaurus .storybook .vitepress
    .vuepress .changeset .yarn .pnpm-store .npm .sass-cache .nyc_output .serverless .webpack .build .dart_tool
    .stack-work .cabal-sandbox .cpcache .shadow-cljs .terraform .terragrunt-cache .vagrant .kitchen .dvc
    .streamlit .jupyter .ipython .ccache .cargo .rustup .nuget .swiftpm .m2 .ivy2 .local .well-known .reuse
    .licenses .sphinx .tx .sonarlint .scannerwork .snyk .aws .azure .kube .docker .ssh .gnupg .idea .dagger
    .pulumi .sst .direnv
""")
"""Dot folders whose entries that act by themselves are in the table, or that hold caches and ordinary code only."""
