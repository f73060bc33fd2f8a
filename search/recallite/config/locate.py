"""Where the configuration file and the state directory are, and what a path in the file means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from recallite.config.values import path_problem
from recallite.errors import ConfigError
from recallite.filenames import as_spelled

CONFIG_VARIABLE = "OPENCLAW_CONFIG_PATH"
STATE_VARIABLE = "OPENCLAW_STATE_DIR"
_HOME_VARIABLES = ("OPENCLAW_HOME", "HOME", "USERPROFILE")


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The directories and the file that everything else is found from. All paths are absolute."""

    home: Path
    state_dir: Path
    state_dir_origin: str
    config_path: Path
    config_origin: str

    @property
    def config_named_by(self) -> str | None:
        """Who named the file, so that its absence is an error; None for the default place."""
        return None if self.config_origin == "default" else self.config_origin

    def path(self, text: str) -> Path:
        """The path that `text` in the file means: relative ones start at the file's directory."""
        return self.path_below(self.config_path.parent, text)

    def path_below(self, base: Path, text: str) -> Path:
        """The same for a path that is relative to `base`."""
        return absolute(as_spelled(text), home=self.home, base=base)


def absolute(text: str, *, home: Path, base: Path | None = None) -> Path:
    """`text` as an absolute path, `~` and `..` replaced, symlinks kept; `base` is else the current folder."""
    path = Path(text)
    if path.parts[:1] == ("~",):
        path = home.joinpath(*path.parts[1:])
    elif base is not None:
        path = base / path
    return Path(os.path.normpath(path.absolute()))


def locate(config_path: str | Path | None, env: Mapping[str, str], home: Path | None) -> Places:
    """Find the state directory and the configuration file: by argument, environment, default.

    Raises ConfigError for a path in the environment that cannot be one here.
    """
    home = (home or _home(env)).absolute()
    state_text = _path_variable(env, STATE_VARIABLE)
    state_dir = absolute(state_text or "~/.openclaw", home=home)
    config_text = _path_variable(env, CONFIG_VARIABLE)
    if config_path is not None:
        config_origin = "argument"
    else:
        config_origin = f"environment {CONFIG_VARIABLE}" if config_text else "default"
    file = config_path if config_path is not None else config_text or state_dir / "openclaw.json"
    return Places(
        home=home,
        state_dir=state_dir,
        state_dir_origin=f"environment {STATE_VARIABLE}" if state_text else "default",
        config_path=absolute(str(file), home=home),
        config_origin=config_origin,
    )


def _home(env: Mapping[str, str]) -> Path:
    for variable in _HOME_VARIABLES:
        if text := env.get(variable, "").strip():
            return Path(text)
    return Path.home()


def _path_variable(env: Mapping[str, str], variable: str) -> str:
    text = env.get(variable, "").strip()
    if problem := path_problem(text):
        raise ConfigError(None, [f"environment {variable}: {text!r} is not allowed: {problem}"])
    return text
