"""The settings of a long-running process: read again when the file changed."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from recallite.config import AgentSettings, Settings, load_settings
from recallite.errors import ConfigError

logger = logging.getLogger(__name__)


class SettingsSource:
    """Settings by agent, as the file says now. A file that became faulty keeps the last good settings."""

    def __init__(self, config: str | Path | None = None) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._settings: Settings | None = None
        self._stamp: tuple[int, int] | None = None

    def current(self) -> Settings:
        """Raises ConfigError when the file is faulty and there are no earlier settings."""
        with self._lock:
            if self._settings is None:
                self._settings = load_settings(self._config)
                self._stamp = _stamp(self._settings.config_file)
            elif (stamp := _stamp(self._settings.config_file)) != self._stamp:
                self._stamp = stamp
                try:
                    self._settings = load_settings(self._config)
                except ConfigError as error:
                    logger.error("%s; the settings from before stay in force", error)
            return self._settings

    def agent(self, agent: str) -> AgentSettings:
        """Raises UnknownAgentError."""
        return self.current().agent(agent)


def _stamp(file: Path | None) -> tuple[int, int] | None:
    if file is None:
        return None
    try:
        info = file.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size
