"""An embedder that fails as it is told, without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recallite.embeddings.protocol import Kind, Limits, RawVector, Space
from recallite.errors import InputRejectedError, ProviderError
from recallite.testing.embedder import DeterministicEmbedder

Rule = Callable[[Sequence[str]], None]
"""Looks at the texts of a request and raises, or does not."""


class ScriptedEmbedder:
    """`DeterministicEmbedder` with 16 dimensions, and failures before it.

    `failures` are raised by the next requests in turn (None: this one passes); `rules` hold for all
    requests; `spoil` may replace each vector. `sent` has the texts of every request.
    """

    def __init__(self, *failures: ProviderError | None, limits: Limits | None = None) -> None:
        self.failures = list(failures)
        self.rules: list[Rule] = []
        self.spoil: Callable[[str, RawVector], RawVector] = lambda text, vector: vector
        self.sent: list[list[str]] = []
        self._limits = limits or Limits()
        self._true = DeterministicEmbedder(dims=16, model="test-16")

    @property
    def provider(self) -> str:
        return self._true.provider

    @property
    def space(self) -> Space:
        return self._true.space

    @property
    def limits(self) -> Limits:
        return self._limits

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[RawVector]:
        self.sent.append(list(texts))
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        for rule in self.rules:
            rule(texts)
        vectors = self._true.embed(texts, kind=kind)
        return [self.spoil(text, vector) for text, vector in zip(texts, vectors, strict=True)]

    def close(self) -> None:
        """Nothing to release."""


def at_most(count: int) -> Rule:
    """Refuses requests of more than `count` texts."""

    def rule(texts: Sequence[str]) -> None:
        if len(texts) > count:
            raise InputRejectedError("too many")

    return rule


def refuse(*bad: str) -> Rule:
    """Refuses requests with one of these texts."""

    def rule(texts: Sequence[str]) -> None:
        if set(texts) & set(bad):
            raise InputRejectedError("refused")

    return rule
