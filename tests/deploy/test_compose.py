"""The compose file against the Compose specification's schema, and what it promises."""

from __future__ import annotations

import json
import stat
import subprocess
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture(scope="module")
def compose() -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return loaded


def test_it_fits_the_compose_specification(compose: dict[str, object]) -> None:
    schema = json.loads((files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)

    assert [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(compose)] == []


def test_every_service_of_ours_is_locked_down(compose) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_only_loopback_is_published_and_redis_is_not(compose) -> None:
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}

    assert ports == {"flower": ["127.0.0.1:5555:5555"]}
    assert compose["services"]["redis"]["networks"] == ["backend"]
    assert compose["networks"]["backend"]["internal"] is True


def test_redis_keeps_its_queue(compose) -> None:
    command = " ".join(compose["services"]["redis"]["command"])

    assert "--appendonly yes" in command and "--maxmemory-policy noeviction" in command and "--aclfile" in command


def test_workers_have_time_to_end_softly(compose) -> None:
    from recallite_worker.app import SOFT_SHUTDOWN_SECONDS

    for name in ("worker-live", "worker-backfill"):
        grace = int(compose["services"][name]["stop_grace_period"].removesuffix("s"))
        assert grace >= SOFT_SHUTDOWN_SECONDS + 5
        assert compose["services"][name]["healthcheck"]["test"][1:3] == ["recallite", "health"]


def test_each_command_exists(compose) -> None:
    from recallite.cli.main import _parser

    for service in compose["services"].values():
        command = service.get("command", [])
        if service.get("image", "").startswith("recallite") and command and not command[0].startswith("--"):
            _parser(command).parse_args(command)


def test_secrets_are_made_once_and_printed_never(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets"))
    runs = [
        subprocess.run([str(tmp_path / "deploy/make-secrets.sh")], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    secrets = tmp_path / "deploy/secrets"
    password = (secrets / "redis_password").read_text()

    assert all(run.stdout == run.stderr == "" for run in runs)
    assert len(password) == 48 and password in (secrets / "broker_url").read_text()
    assert password not in (secrets / "redis_users").read_text()
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700


@pytest.mark.parametrize("unit", sorted(path.name for path in (DEPLOY / "systemd").glob("*.service")))
def test_systemd_units_start_commands_that_exist(unit: str) -> None:
    import configparser

    from recallite.cli.main import _parser

    parsed = configparser.ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(DEPLOY / "systemd" / unit)
    program, *arguments = parsed["Service"]["ExecStart"].split()

    assert program.endswith("/recallite")
    _parser(arguments).parse_args(arguments)
    assert parsed["Service"]["Restart"] == "always"
    assert parsed["Service"]["NoNewPrivileges"] == "yes"
