"""From agent ids to file names: safe on every file system, and never two ids to one name."""

from __future__ import annotations

import unicodedata

from recallite.errors import UnknownAgentError

MAX_ID_CHARS = 256
_MAX_NAME_CHARS = 64
_FOLDED_HEAD_CHARS = 40
_PLAIN_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_WINDOWS_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)


def id_problem(agent_id: str) -> str | None:
    """Why `agent_id` cannot be the id of an agent, or None."""
    if not agent_id.strip():
        return "an agent id must not be empty"
    if len(agent_id) > MAX_ID_CHARS:
        return f"an agent id has at most {MAX_ID_CHARS} characters"
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in agent_id):
        return "an agent id must not hold control characters, line breaks or broken Unicode"
    return None


def file_name(agent_id: str) -> str:
    """The name, without suffix, of the files of an agent.

    Ids of `a-z 0-9 _ -` are their own names. In others each other byte becomes `=` and two hexadecimal
    digits, so names differ even where a file system ignores case or Unicode normalisation. `=` rather
    than `%`, which SQLite's file addresses would decode. What becomes too long ends in its SHA-256, after
    `=sha256-`, which no escaped byte can look like.

    Raises UnknownAgentError for what cannot be an id.
    """
    if problem := id_problem(agent_id):
        raise UnknownAgentError(problem)
    data = agent_id.encode()
    name = "".join(chr(byte) if byte in _PLAIN_BYTES else f"={byte:02x}" for byte in data)
    if name in _WINDOWS_DEVICES:
        name = f"={data[0]:02x}{name[1:]}"
    if len(name) > _MAX_NAME_CHARS:
        import hashlib  # only very long ids need it

        return f"{name[:_FOLDED_HEAD_CHARS]}=sha256-{hashlib.sha256(data).hexdigest()}"
    return name
