"""Loading sqlite-vec, and saying why not when it cannot be had."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from recallite.filenames import as_text
from recallite.index.rows import fetch

if TYPE_CHECKING:
    from recallite.config import AgentSettings


@dataclass(frozen=True, slots=True)
class VectorExtension:
    """What to load: `enabled` and `path` as configured; a path of None means the packaged sqlite-vec."""

    enabled: bool = True
    path: Path | None = None

    def load(self, connection: apsw.Connection) -> str | None:
        """Load the extension into a connection; None when vec0 works, else the reason why not."""
        if not self.enabled:
            return "switched off by store.vector.enabled"
        library = self.path or _packaged_library()
        if library is None:
            return "the package sqlite-vec is not installed: pip install sqlite-vec"
        try:
            connection.enable_load_extension(True)
            try:
                connection.load_extension(as_text(library))
            finally:
                connection.enable_load_extension(False)
            fetch(connection, "SELECT vec_distance_cosine(vec_f32('[1,0]'), vec_f32('[0,1]'))")
        except (apsw.Error, AttributeError) as error:
            setting = "store.vector.extensionPath" if self.path else "sqlite-vec"
            return f"{setting} {library} cannot be loaded: {_why(library, error)}"
        return None


def _why(library: Path, error: Exception) -> str:
    """SQLite tries the name with a suffix last, and complains of that one."""
    if f"{library}." not in str(error):
        return str(error)
    return "it is no library for this machine" if library.exists() else "there is no such file"


def extension_of(settings: AgentSettings) -> VectorExtension:
    """What an agent's settings say about sqlite-vec."""
    vector = settings.search.store.vector
    return VectorExtension(vector.enabled, Path(vector.extension_path) if vector.extension_path else None)


def _packaged_library() -> Path | None:
    """The loadable file in the sqlite-vec wheel, found without importing the package."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "vec0"
