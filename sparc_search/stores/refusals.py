"""Why an engine does not take a document, in the same words on every engine."""

from __future__ import annotations

from ..stored import Refusal


def taken_id(document_id: str, passage_id: str) -> Refusal:
    """One of its passages has an id that is not its own."""
    reason = f"two documents have a passage with the id {passage_id!r}"
    return Refusal(document_id, reason, "give every document an id of its own")


def badly_encoded(document_id: str, error: ValueError) -> Refusal:
    """What the encoder made of it cannot be stored."""
    return Refusal(document_id, str(error), "check the encoder")
