"""Where a model's file is: a path as it is, or an address, whose file is downloaded once and resumed when it breaks."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from recallite.embeddings.backoff import wait_seconds
from recallite.embeddings.endpoint import Endpoint, endpoint_for
from recallite.embeddings.gguf import MAGIC
from recallite.embeddings.http_api import connection_trouble
from recallite.embeddings.http_errors import Refusal, error_for
from recallite.embeddings.quiet import quiet
from recallite.errors import ProviderError, ProviderTransientError, ProviderUnavailableError
from recallite.filenames import as_spelled
from recallite.locking import locked

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

DEFAULT_HUB = "https://huggingface.co"
HUB_VARIABLE, TOKEN_VARIABLE = "HF_ENDPOINT", "HF_TOKEN"
TRIES = 6
"""Of a download that breaks off; each goes on where the one before ended, and progress counts as a new beginning."""
_TIMEOUT_SECONDS = 30.0
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')

OnProgress = Callable[[int, int | None], None]
"""Gets bytes done, and bytes in all where the server says so."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model's file, there or to be downloaded."""

    path: Path
    url: str | None = None
    """Where it comes from; None for a file of the user."""

    @property
    def is_there(self) -> bool:
        return self.path.is_file()


def model_file(model_path: str, cache_dir: Path) -> ModelFile:
    """What `local.modelPath` means: `hf:OWNER/REPOSITORY/FILE.gguf`, an http(s) address, or a path.

    Raises ProviderUnavailableError for an `hf:` address that names no file.
    """
    if model_path.startswith("hf:"):
        owner, _, rest = model_path.removeprefix("hf:").partition("/")
        repository, _, name = rest.partition("/")
        if not (owner and repository and name) or ".." in name.split("/"):
            raise ProviderUnavailableError(
                f"local.modelPath {model_path!r} names no file: write hf:OWNER/REPOSITORY/FILE.gguf"
            )
        hub = os.environ.get(HUB_VARIABLE, "").strip().rstrip("/") or DEFAULT_HUB
        url = f"{hub}/{quote(owner)}/{quote(repository)}/resolve/main/{quote(name)}"
        return ModelFile(cache_dir / _file_name(model_path.removeprefix("hf:")), url)
    if model_path.startswith(("http://", "https://")):
        parts = urlsplit(model_path)
        return ModelFile(cache_dir / _file_name(f"{parts.netloc.rpartition('@')[2]}{parts.path}"), model_path)
    return ModelFile(Path(as_spelled(model_path)).expanduser())


def _file_name(address: str) -> str:
    """One flat name for each address: what is left out of it is told apart by a hash."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", address)[-100:]
    return f"{hashlib.sha256(address.encode()).hexdigest()[:8]}_{kept}"


def download(file: ModelFile, *, on_progress: OnProgress = lambda done, total: None) -> Path:
    """Bring the file here, going on from what an earlier try has left. Returns when it is whole.

    One process at a time; others wait. Raises ProviderUnavailableError when the server does not have it or it is
    no model, ProviderTransientError when the download broke off again and again; what has come is kept.
    """
    if file.url is None:
        raise ProviderUnavailableError(f"the model {file.path} is not there: set local.modelPath to a GGUF file")
    try:
        file.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(file.path):
            if not file.is_there:
                _Download(file.path, file.url, on_progress).run()
    except OSError as error:
        raise ProviderUnavailableError(f"the model cannot be kept at {file.path}: {error.strerror}") from error
    return file.path


class _Download:
    def __init__(self, target: Path, url: str, on_progress: OnProgress) -> None:
        self._target = target
        self._part = target.with_name(f"{target.name}.part")
        self._about = target.with_name(f"{target.name}.part.json")
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        hub = os.environ.get(HUB_VARIABLE, "").strip() or DEFAULT_HUB
        own = url.startswith(f"{hub.rstrip('/')}/")
        self._endpoint: Endpoint = endpoint_for(base_url=url, api_key=token if own and token else None, headers={})
        self._on_progress = on_progress

    def run(self) -> None:
        failures = 0
        while True:
            before = self._size()
            try:
                expected, digest = self._receive()
                break
            except ProviderTransientError as error:
                failures = 1 if self._size() > before else failures + 1
                wait = wait_seconds(error, failures=failures)
                if failures >= TRIES or wait is None:
                    raise
                logger.warning("the download of %s broke off (%s); it goes on in %.0f s", self._target, error, wait)
                time.sleep(wait)
        self._check(expected, digest)
        self._part.replace(self._target)
        self._about.unlink(missing_ok=True)
        logger.info("%s is here, %d bytes", self._target, self._target.stat().st_size)

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _receive(self) -> tuple[int | None, str | None]:
        """One request; the size that the whole file must have, and its SHA-256, where the server tells them."""
        import httpx

        etag = self._known_etag()
        start = self._size() if etag is not None else 0
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers |= {"Range": f"bytes={start}-", "If-Range": etag or ""}
        try:
            with (
                quiet(),
                httpx.Client(timeout=_TIMEOUT_SECONDS, headers=dict(self._endpoint.headers)) as client,
                client.stream("GET", self._endpoint.url, headers=headers, params=dict(self._endpoint.query),
                              follow_redirects=True) as reply,
            ):  # fmt: skip
                return self._take(reply, start)
        except httpx.HTTPError as error:
            raise ProviderTransientError(f"{self._endpoint.host}: {connection_trouble(error)}") from None

    def _take(self, reply: httpx.Response, start: int) -> tuple[int | None, str | None]:
        headers = {name.lower(): value for hop in (*reply.history, reply) for name, value in hop.headers.items()}
        if reply.status_code == 416:  # the part is as long as the file, or longer: begin anew
            self._part.unlink(missing_ok=True)
            raise ProviderTransientError(f"{self._endpoint.host} has another file by now")
        if reply.status_code not in (200, 206):
            raise self._refused(reply.status_code, headers)
        if reply.status_code == 200:
            start = 0
        etag = reply.headers.get("etag", "")
        # A weak tag promises no equal bytes: nothing may be appended on its word.
        self._about.write_text(json.dumps({"etag": etag if not etag.startswith("W/") else ""}))
        length = reply.headers.get("content-length")
        total = start + int(length) if length is not None and length.isdecimal() else None
        with self._part.open("ab" if start else "wb") as file:
            done = start
            for block in reply.iter_raw():  # as it comes: what has come before a break is kept
                file.write(block)
                done += len(block)
                self._on_progress(done, total)
        if total is not None and done < total:
            raise ProviderTransientError(f"{self._endpoint.host}: the connection broke off")
        found = _SHA256.fullmatch(headers.get("x-linked-etag", "") or etag)
        return total, found[1] if found else None

    def _refused(self, status: int, headers: dict[str, str]) -> ProviderError:
        if status in (401, 403, 404):
            return ProviderUnavailableError(
                f"{self._endpoint.host} answered {status} for the model: check local.modelPath"
                + (f", or set {TOKEN_VARIABLE} if it is not public" if status != 404 else "")
            )
        return error_for(Refusal(status, headers, None), endpoint=self._endpoint, model=self._target.name)

    def _known_etag(self) -> str | None:
        try:
            etag = json.loads(self._about.read_text())["etag"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return etag if isinstance(etag, str) and etag else None

    def _check(self, expected: int | None, digest: str | None) -> None:
        with self._part.open("rb") as file:
            is_model = file.read(len(MAGIC)) == MAGIC
            file.seek(0)
            found = hashlib.file_digest(file, "sha256").hexdigest()
        size = self._part.stat().st_size
        problem = None
        if not is_model:
            problem = "it is not a GGUF file"
        elif expected is not None and size != expected:
            problem = f"it has {size} bytes instead of {expected}"
        elif digest is not None and found != digest:
            problem = "its SHA-256 is not the one that the server names"
        if problem is not None:
            self._part.unlink()
            self._about.unlink(missing_ok=True)
            raise ProviderUnavailableError(
                f"what {self._endpoint.host} sent for the model was thrown away: {problem}; check local.modelPath"
            )


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process downloads a file; the others wait for as long as that takes."""
    with path.with_name(f"{path.name}.lock").open("w") as lock, locked(lock.fileno(), wait_seconds=math.inf):
        yield
