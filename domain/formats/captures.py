"""Captures: conversations as browser extensions save them, around what the site itself sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chronofile.domain.formats.moments import moment
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, Role, Turn

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}


def told_in(record: Record, provider: str, native: str) -> Record:
    """Return what the provider's site sent: it has the field `native`. A record that is no capture is that by itself.

    Where a capture has nothing of the site, it is what the extension saw of the page: `seen_turns` reads that.
    """
    session = record.get("session")
    if not isinstance(session, dict) or session.get("provider") != provider:
        payload = record.get("raw_provider_payload")
        return payload if isinstance(payload, dict) and native in payload else record
    payload = record.get("raw_provider_payload")
    seen = {
        "id": session.get("provider_session_id"),
        "uuid": session.get("provider_session_id"),
        "title": session.get("title"),
        "name": session.get("title"),
        "created_at": session.get("created_at"),
        "updated_at": session.get("updated_at"),
    }
    if isinstance(payload, dict) and native in payload:
        return {**seen, **payload}
    return {**seen, "seen_turns": session.get("turns")}


def is_seen(told: Record) -> bool:
    """Tell whether a conversation is only what an extension saw of a page."""
    return isinstance(told.get("seen_turns"), list)


def seen_turns(told: Record) -> Iterator[Turn]:
    """Yield the turns that an extension saw of a page."""
    turns = told.get("seen_turns")
    for turn in turns if isinstance(turns, list) else ():
        text = text_field(turn, "text") if isinstance(turn, dict) else None
        if text:
            identifier = text_field(turn, "provider_turn_id")
            role = _ROLES.get(str(turn.get("role")), "system")
            key = identifier or digest(role, text, size=8)
            ids = (identifier,) if identifier else ()
            yield Turn(key, ids, role, None, moment(turn.get("timestamp")), (Part("text", text),))
