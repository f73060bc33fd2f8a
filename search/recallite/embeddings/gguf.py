"""The head of a GGUF file: enough to know the model before a runtime loads it, and to name what is wrong.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from recallite.errors import ProviderUnavailableError

MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_KEYS, _LONGEST_STRING = 100_000, 1 << 20
_SAMPLE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class GgufModel:
    """What a file says of its model."""

    name: str
    """As the file calls it, else the file's name."""
    architecture: str
    context_tokens: int
    """Tokens that the model takes at once."""
    dims: int
    fingerprint: str
    """Of size, beginning and end: another file under the same name is another model."""


def read_gguf(path: Path) -> GgufModel:
    """Raises ProviderUnavailableError, which names the file, for what is not a whole GGUF file of a model."""
    try:
        with path.open("rb") as file:
            values = _Head(file).values()
            fingerprint = _fingerprint(file)
    except OSError as error:
        raise ProviderUnavailableError(f"the model {path} cannot be read: {error.strerror}") from error
    except (struct.error, ValueError, OverflowError) as error:
        raise ProviderUnavailableError(
            f"{path} is not a whole GGUF file ({error}): download it again, or set local.modelPath to another"
        ) from error
    architecture = str(values.get("general.architecture", ""))
    context, dims = (values.get(f"{architecture}.{key}") for key in ("context_length", "embedding_length"))
    if not isinstance(context, int) or not isinstance(dims, int) or context < 1 or dims < 1:
        raise ProviderUnavailableError(f"{path} does not say how large its model is: it is no embedding model")
    return GgufModel(str(values.get("general.name") or path.stem), architecture, context, dims, fingerprint)


def _fingerprint(file: BufferedReader) -> str:
    size = file.seek(0, 2)
    digest = hashlib.sha256(str(size).encode())
    for start in (0, max(0, size - _SAMPLE_BYTES)):
        file.seek(start)
        digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


class _Head:
    def __init__(self, file: BufferedReader) -> None:
        self._file = file

    def values(self) -> dict[str, object]:
        """The scalars and texts of the head, by key; arrays, such as the vocabulary, are passed over."""
        if self._file.read(4) != MAGIC:
            raise ValueError("it does not begin with GGUF")
        version, _, keys = self._unpack("IQQ")
        if version not in (2, 3):
            raise ValueError(f"version {version}")
        if keys > _MOST_KEYS:
            raise ValueError(f"{keys} keys")
        found: dict[str, object] = {}
        for _ in range(keys):
            key = self._string()
            value = self._value(self._unpack("I")[0])
            if value is not None:
                found[key] = value
        return found

    def _value(self, kind: int) -> object:
        if kind in _SCALARS:
            return self._unpack(_SCALARS[kind])[0]
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, count = self._unpack("IQ")
            self._skip(inner, count)
            return None
        raise ValueError(f"a value of kind {kind}")

    def _skip(self, kind: int, count: int) -> None:
        if kind in _SCALARS:
            self._file.seek(struct.calcsize(f"<{_SCALARS[kind]}") * count, 1)
        elif kind == _STRING:
            for _ in range(count):
                self._file.seek(self._unpack("Q")[0], 1)
        else:
            raise ValueError(f"an array of kind {kind}")

    def _string(self) -> str:
        (length,) = self._unpack("Q")
        if length > _LONGEST_STRING:
            raise ValueError(f"a text of {length} bytes")
        data = self._file.read(length)
        if len(data) < length:
            raise ValueError("it ends early")
        return data.decode("utf-8", "replace")

    def _unpack(self, layout: str) -> tuple[int, ...]:
        size = struct.calcsize(f"<{layout}")
        data = self._file.read(size)
        if len(data) < size:
            raise ValueError("it ends early")
        return struct.unpack(f"<{layout}", data)
