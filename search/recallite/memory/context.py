"""What a session begins with: the logs of today and yesterday, and MEMORY.md where nobody else reads along."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from recallite.arguments import a_day, a_text, agent_settings, yes_or_no
from recallite.config import AgentSettings
from recallite.errors import MemoryPathError
from recallite.types import ContextFile, SessionContext
from recallite.workspace import read_excerpt
from recallite.workspace.files import NOTES_DIR, ROOT_NAMES

MAIN_SESSION = "main"


def session_context(
    settings: AgentSettings, *, session_key: str | None = None, private: bool | None = None, today: date | None = None
) -> SessionContext:
    """The notes to give a model when a session starts, oldest day first; what does not exist is left out.

    MEMORY.md is in it only in the main, private session: when `private` is true, or the key is that of this agent's
    main session (`agent:<id>:main`). A key of a group or channel never has it. One of the two must be given, so that
    no private memory gets into a group by oversight. `today` is by default the day in the user's time zone.
    Raises ValueError when neither is given.
    """
    agent_settings(settings)
    if session_key is None and private is None:
        raise ValueError("say whose session it is: session_key=..., or private=True or False")
    key = a_text(session_key, "session_key") if session_key is not None else ""
    private = yes_or_no(private, "private") if private is not None else None
    today = a_day(today, "today") if today is not None else datetime.now(settings.zone).date()
    wanted = [f"{NOTES_DIR}/{day.isoformat()}.md" for day in (today - timedelta(days=1), today)]
    if _is_main(key, private, settings.agent):
        wanted = [*ROOT_NAMES, *wanted]
    files: list[ContextFile] = []
    problems: list[str] = []
    for path, text in _read(settings, wanted, problems):
        if text.strip() and text not in {file.text for file in files if file.path in ROOT_NAMES}:
            files.append(ContextFile(path, text))
    return SessionContext(tuple(files), tuple(problems))


def as_prompt(context: SessionContext) -> str:
    """The context as one text for a system prompt; empty when there is nothing."""
    if not isinstance(context, SessionContext):
        raise TypeError(f"context must be what session_context gives, not {type(context).__name__}")
    return "\n\n".join(f"## {file.path}\n\n{file.text.strip()}" for file in context.files)


def _is_main(session_key: str, private: bool | None, agent: str) -> bool:
    from recallite.tools.chats import chat_type

    if chat_type(session_key) in ("group", "channel"):
        return False
    if private is not None:
        return private
    # The key of another agent is that of a session in which this agent's memory has no business.
    return session_key.strip().lower() in (MAIN_SESSION, f"agent:{agent.lower()}:{MAIN_SESSION}")


def _read(settings: AgentSettings, paths: list[str], problems: list[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            yield path, read_excerpt(path, settings.workspace).text
        except MemoryPathError as error:
            problems.append(str(error))
