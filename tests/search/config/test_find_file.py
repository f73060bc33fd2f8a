"""Which configuration file is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recallite.config import load_settings
from recallite.errors import ConfigError


def write(file: Path, max_results: int) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{{agents: {{defaults: {{memorySearch: {{query: {{maxResults: {max_results}}}}}}}}}}}")
    return file


def max_results(config_path: Path | str | None, env: dict[str, str], home: Path) -> int:
    return load_settings(config_path, env=env, home=home).agent(None).search.query.max_results


def test_an_absent_default_file_means_all_defaults(home: Path) -> None:
    settings = load_settings(env={}, home=home)

    assert settings.config_file is None
    assert settings.agent(None).search.query.max_results == 6


def test_the_default_file_is_in_the_home_directory(home: Path) -> None:
    write(home / ".openclaw" / "openclaw.json", 11)

    assert max_results(None, {}, home) == 11


def test_the_home_directory_comes_from_the_environment(home: Path) -> None:
    write(home / ".openclaw" / "openclaw.json", 11)

    assert load_settings(env={"HOME": str(home)}).agent(None).search.query.max_results == 11


def test_the_state_directory_of_the_environment_is_looked_into(home: Path, tmp_path: Path) -> None:
    write(home / ".openclaw" / "openclaw.json", 11)
    write(tmp_path / "state" / "openclaw.json", 12)

    assert max_results(None, {"OPENCLAW_STATE_DIR": str(tmp_path / "state")}, home) == 12


def test_the_file_of_the_environment_wins_over_the_state_directory(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "state" / "openclaw.json", 12)
    file = write(tmp_path / "other.json", 13)
    env = {"OPENCLAW_STATE_DIR": str(tmp_path / "state"), "OPENCLAW_CONFIG_PATH": str(file)}

    assert max_results(None, env, home) == 13


def test_the_argument_wins_over_everything(home: Path, tmp_path: Path) -> None:
    env = {"OPENCLAW_CONFIG_PATH": str(write(tmp_path / "other.json", 13))}
    file = write(tmp_path / "argument.json", 14)

    assert max_results(str(file), env, home) == 14


def test_a_tilde_in_the_environment_is_the_home_directory(home: Path) -> None:
    write(home / "elsewhere.json", 15)

    assert max_results(None, {"OPENCLAW_CONFIG_PATH": "~/elsewhere.json"}, home) == 15


def test_empty_variables_count_as_not_set(home: Path) -> None:
    env = {"OPENCLAW_CONFIG_PATH": "", "OPENCLAW_STATE_DIR": " "}

    assert load_settings(env=env, home=home).state_dir == home / ".openclaw"


@pytest.mark.parametrize("env", [{}, {"OPENCLAW_CONFIG_PATH": "~/absent.json"}])
def test_a_named_file_must_exist(home: Path, env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"absent\.json:\n- the file does not exist .named by"):
        load_settings(None if env else home / "absent.json", env=env, home=home)


def test_a_dangling_link_at_the_default_place_is_not_taken_for_absence(home: Path) -> None:
    (home / ".openclaw" / "openclaw.json").symlink_to(home / "gone.json")

    with pytest.raises(ConfigError, match="does not exist"):
        load_settings(env={}, home=home)


def test_a_directory_in_place_of_the_file_is_an_error(home: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(home, env={}, home=home)


def test_a_windows_path_in_the_environment_is_refused(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"environment OPENCLAW_STATE_DIR.*Windows path"):
        load_settings(env={"OPENCLAW_STATE_DIR": "C:\\state"}, home=home)


def test_loading_creates_nothing(home: Path) -> None:
    before = sorted(home.rglob("*"))

    load_settings(env={}, home=home).agent(None)

    assert sorted(home.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_refused_and_not_waited_for(home: Path) -> None:
    os.mkfifo(home / "pipe")

    with pytest.raises(ConfigError, match="it is a pipe, a device or a socket: name a file"):
        load_settings(home / "pipe", env={}, home=home)
