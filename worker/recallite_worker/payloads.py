"""What a task message may hold. Messages come from a broker that others can reach: nothing in them is trusted."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class SyncRequest(BaseModel):
    """Make an agent's index equal to its files."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    agent: str = Field(min_length=1, max_length=256)


def parse(payload: dict[str, object]) -> SyncRequest | str:
    """The request, or in a few words what is wrong with it: never a value of it, as errors are shown on pages."""
    try:
        return SyncRequest.model_validate(payload)
    except ValidationError as error:
        faults = {(str(fault["loc"][0]) if fault["loc"] else "", fault["type"]) for fault in error.errors()}
        known = sorted(f"{key}: {kind}" for key, kind in faults if key in SyncRequest.model_fields)
        return "; ".join(known) or "unknown keys"
