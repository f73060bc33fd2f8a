"""What the batch services without an SDK have in common: two clients, one for calls and one for files."""

from __future__ import annotations

from recallite.embeddings.batches import CALL_SECONDS, TRANSFER_SECONDS
from recallite.embeddings.endpoint import Endpoint
from recallite.embeddings.http_api import JsonApi
from recallite.embeddings.replies import read_json
from recallite.errors import ProviderTransientError


class HttpBatches:
    """Subclasses say how requests and replies look."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.host = endpoint.host
        self.calls = JsonApi(endpoint, model=model, timeout_seconds=CALL_SECONDS)
        self.transfers = JsonApi(endpoint, model=model, timeout_seconds=TRANSFER_SECONDS)

    def read_object(self, body: bytes) -> dict[str, object]:
        """The object in a reply; an empty one for any other document."""
        reply = read_json(body, host=self.host)
        return reply if isinstance(reply, dict) else {}

    def name_in(self, reply: dict[str, object], key: str) -> str:
        """The name under `key`. Raises ProviderTransientError when there is none."""
        found = reply.get(key)
        if not isinstance(found, str) or not found:
            raise ProviderTransientError(f"{self.host} answered without the {key} of what it made")
        return found

    def close(self) -> None:
        self.calls.close()
        self.transfers.close()
