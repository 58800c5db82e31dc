"""Format of `task.toml` and `suite.toml`: field names, types and rules, independent of the folder they are in."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

CommitId = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
"""Full id of a commit: a branch or a short id would name other files tomorrow."""

ShellLine = Annotated[str, StringConstraints(min_length=1)]
"""A command line for `sh -c`; it runs in the sandbox, in the worktree's root."""

Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
ToolWord = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
"""Name of a tool, or of an argument, as providers accept it."""

Expectation = Literal["solve", "refuse"]
Half = Literal["", "development", "test"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class BaseFiles(_Table):
    """Files that a trial begins with: exactly one of `folder`, `bundle` and `repository`.

    folder: directory of the task folder, becomes the only commit of a new repository
    bundle: file made by `git bundle create`, in the task folder or, as `../NAME`, beside it for several tasks
    repository: folder of a git repository, relative to the task folder or absolute
    commit: of the bundle or repository; trials see its files as the only commit, so no later one gives them away
    patch: file of the task folder, applied to the base and part of its commit
    """

    folder: str = ""
    bundle: str = ""
    repository: str = ""
    commit: CommitId | None = None
    patch: str = ""

    @field_validator("folder", "bundle", "patch")
    @classmethod
    def _is_inside(cls, value: str, info: ValidationInfo) -> str:
        shared = info.field_name == "bundle"
        if value:
            check_inner_path(value.removeprefix("../") if shared else value)
        return value

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        named = [name for name in ("folder", "bundle", "repository") if getattr(self, name)]
        if len(named) != 1:
            raise ValueError(
                f"exactly one of folder, bundle and repository is needed, not {' and '.join(named) or 'none'}"
            )
        if (named == ["folder"]) is not (self.commit is None):
            raise ValueError(
                "a folder has no commit" if self.commit else f"{named[0]} needs commit, a full commit id"
            )
        return self


class TaskLimits(_Table):
    """Limits of one trial. The command that runs it can only lower them.

    seconds: for the agent's turns together; steps, cost (dollars) and tokens of one turn
    setup_seconds: for all commands of `setup`; check_seconds: for the checker
    """

    seconds: float = Field(default=600.0, gt=0, le=86_400, strict=False)
    steps: int = Field(default=100, ge=1)
    cost: float | None = Field(default=None, ge=0, strict=False)
    tokens: int | None = Field(default=None, ge=1)
    setup_seconds: float = Field(default=300.0, gt=0, le=86_400, strict=False)
    check_seconds: float = Field(default=120.0, gt=0, le=86_400, strict=False)

    @property
    def total_seconds(self) -> float:
        """Seconds that one trial can take, set-up and checker included."""
        return self.setup_seconds + self.seconds + self.check_seconds


class UserScript(_Table):
    """A user: scripted, or played by a model that the command names.

    answers: to the agent's questions, by words that a question contains; `*` answers all others
    follow_ups: further prompts, one after each turn: a user who adds to the task or has a change of mind
    persona: who the user is, wants and knows, told to the model that plays them; turns: most messages of such a user
    """

    answers: dict[str, str] = Field(default_factory=dict)
    follow_ups: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(default=(), strict=False)
    persona: str = Field(default="", max_length=20_000)
    turns: int = Field(default=10, ge=1, le=50)

    @model_validator(mode="after")
    def _is_one_user(self) -> Self:
        if self.persona and (self.answers or self.follow_ups):
            raise ValueError("a user has a persona, or answers and follow_ups, not both")
        return self


class RenamedTool(_Table):
    """Other names of one tool, for models that use tools by their purpose.

    name: in place of the tool's own; arguments: other names by the real ones; description: in place of the tool's own
    """

    name: ToolWord
    arguments: dict[ToolWord, ToolWord] = Field(default_factory=dict)
    description: str = Field(default="", max_length=2_000)

    @model_validator(mode="after")
    def _has_distinct_arguments(self) -> Self:
        if len(set(self.arguments.values())) < len(self.arguments):
            raise ValueError("two arguments have the same name")
        return self


class TaskFile(_Table):
    """Content of `task.toml`.

    prompt: the task; if empty it is in `prompt.md`
    setup: command lines that run before the agent begins; what they make is no part of its change
    check: command line that runs after the agent has ended; exit code 0: solved. A line `score: 0.75` (the last one
        counts) gives partial credit to what is not solved, as does the file `score_file`. Variables for it:
        PATCHWRIGHT_ANSWER, a file with the agent's last message; PATCHWRIGHT_OUTCOME, how it ended; PYTHON
    score_file: JSON file `{"score": 0.75}` that the checker writes, relative to the worktree
    expect: "refuse": the right result is no change of files, and an answer that says why
    tools: other names of tools, by the real ones: the model of the trial sees and calls them so
    """

    prompt: str = ""
    base: BaseFiles
    setup: tuple[ShellLine, ...] = Field(default=(), strict=False)
    check: str = ""
    score_file: str = ""
    limits: TaskLimits = Field(default_factory=TaskLimits)
    tags: tuple[Tag, ...] = Field(default=(), strict=False)
    language: str = ""
    description: str = ""
    expect: Expectation = "solve"
    user: UserScript = Field(default_factory=UserScript)
    tools: dict[ToolWord, RenamedTool] = Field(default_factory=dict, max_length=200)

    @field_validator("tools")
    @classmethod
    def _has_distinct_names(cls, value: dict[str, RenamedTool]) -> dict[str, RenamedTool]:
        if len({each.name for each in value.values()}) < len(value):
            raise ValueError("two tools have the same name")
        return value

    @field_validator("score_file")
    @classmethod
    def _is_inside(cls, value: str) -> str:
        return check_inner_path(value) if value else value

    @model_validator(mode="after")
    def _has_checker(self) -> Self:
        if self.expect == "solve" and not self.check.strip():
            raise ValueError('check is needed, a command line; only a task with expect = "refuse" has none')
        return self


class SuiteFile(_Table):
    """Content of `suite.toml`, which is optional.

    name: the folder's if empty; half: which half of a set that is split for development; source: where it is from
    """

    name: str = ""
    description: str = ""
    licence: str = ""
    half: Half = ""
    source: str = ""


def check_inner_path(value: str) -> str:
    """Return a relative path that stays inside its folder. Raises ValueError for any other."""
    parts = value.split("/")
    if (
        value.startswith(("/", "~"))
        or "\\" in value
        or "\0" in value
        or any(each in ("", ".", "..") for each in parts)
    ):
        raise ValueError(f"{value!r} is no path inside the folder: write it like repo or data/repo.bundle")
    return value
