"""Names of files as text: their bytes are taken for UTF-8, whatever the locale says.

Python spells a name as the locale reads its bytes: `café` is `cafÃ©` under ISO-8859-1. Such a spelling is right for
asking the system, and for nothing else: an index path, a path in the settings and a database's name are text.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SAME = sys.getfilesystemencoding().lower() in ("utf-8", "utf8")
"""As nearly everywhere: then both spellings are one."""


def as_text(spelled: str | Path) -> str:
    """The text that a name stands for which Python got from the system. Bytes that are no UTF-8 stay surrogates."""
    if _SAME:
        return str(spelled)
    try:
        return os.fsencode(spelled).decode("utf-8", errors="surrogateescape")
    except UnicodeEncodeError:
        return str(spelled)  # no system has said it: it is text already


def as_spelled(text: str) -> str:
    """How the name `text` has to be given to the system. The opposite of `as_text`."""
    if _SAME:
        return text
    try:
        return os.fsdecode(text.encode("utf-8", errors="surrogateescape"))
    except UnicodeEncodeError:
        return text  # half a character: no file has such a name
