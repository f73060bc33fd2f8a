"""Lines on standard input that the `mcp` package drops without a word: each is answered, or mended and served."""

from __future__ import annotations

import re
from types import TracebackType
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F]..)|.)")
"""An escape of JSON, with a pair of surrogates as one; the group is a half of such a pair that stands alone."""


class AnsweringStream:
    """What comes in, without the lines that are no message: a client that waits for an answer gets one.

    A half surrogate (`\\ud83d`, which JSON allows and a cut emoji leaves) becomes U+FFFD. Blank lines are passed over.
    """

    def __init__(self, incoming: ReadStream[SessionMessage | Exception], outgoing: WriteStream[SessionMessage]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises anyio.EndOfStream."""
        while True:
            item = await self._incoming.receive()
            if not isinstance(item, ValidationError):
                return item
            found = _mended(item)
            if isinstance(found, SessionMessage):
                return found
            if found is not None:
                await self._outgoing.send(SessionMessage(found))

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> AnsweringStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> AnsweringStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _mended(error: ValidationError) -> SessionMessage | types.JSONRPCError | None:
    """The message that the line was meant to be, or the answer to it; None when the line is blank."""
    line = next((each["input"] for each in error.errors() if each["type"] == "json_invalid"), None)
    if not isinstance(line, str):
        return _refusal(types.INVALID_REQUEST, "not a JSON-RPC message", _id_of(error))
    if not line.strip():
        return None
    whole = _ESCAPE.sub(lambda found: r"\ufffd" if found[1] else found[0], line)
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except ValidationError as again:
        if any(each["type"] == "json_invalid" for each in again.errors()):
            return _refusal(types.PARSE_ERROR, "the line is not JSON", None)
        return _refusal(types.INVALID_REQUEST, "not a JSON-RPC message", _id_of(again))


def _id_of(error: ValidationError) -> int | str | None:
    """The id of the message, of which at least one form of messages misses something."""
    for each in error.errors():
        message = each["input"]
        if each["type"] == "missing" and len(each["loc"]) == 2 and isinstance(message, dict):
            id_ = message.get("id")
            return id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None
    return None


def _refusal(code: int, message: str, id_: int | str | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id_, error=types.ErrorData(code=code, message=message))
