"""A made-up chat of VS Code: references in sentences, a tool, a thought, an undone request, a title and an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "7c0d3f0e-2b1a-4c55-9d51-3f1e6a7b8c9d"
AT_MS = 1_775_000_000_000


def markdown(value: str) -> dict[str, Any]:
    return {"value": value, "supportThemeIcons": False, "supportHtml": False}


def reference(path: str) -> dict[str, Any]:
    return {
        "kind": "inlineReference",
        "inlineReference": {"$mid": 1, "fsPath": path, "path": path, "scheme": "file"},
    }


def invoked(call_id: str, tool: str, message: str) -> dict[str, Any]:
    fields = {
        "toolCallId": call_id,
        "toolId": tool,
        "isComplete": True,
        "pastTenseMessage": markdown(message),
    }
    return {"kind": "toolInvocationSerialized"} | fields


def request(number: int, text: str, *response: Any, **fields: Any) -> dict[str, Any]:
    """Return a request; its number is in its ids, and its minute."""
    made = {
        "requestId": f"request_{number}",
        "responseId": f"response_{number}",
        "timestamp": AT_MS + number * 60_000,
    }
    return made | {"message": {"text": text, "parts": []}, "response": list(response), "result": {}} | fields


def rounds(*made: dict[str, Any], **results: str) -> dict[str, Any]:
    given = {call_id: {"content": [{"value": text}]} for call_id, text in results.items()}
    return {"metadata": {"toolCallRounds": list(made), "toolCallResults": given}}


def chat() -> dict[str, Any]:
    """Return the whole chat, as the editor keeps it."""
    called = {"id": "call1", "name": "read_file", "arguments": json.dumps({"filePath": "/made-up/kiln.md"})}
    told = "The kiln is described in kiln.md, at 1,240 °C."
    first = request(
        1,
        "How hot does the kiln get? 🔥",
        {"kind": "thinking", "value": "There should be a note."},
        invoked("other-id", "copilot_readFile", "Read [](file:///made-up/kiln.md)"),
        markdown("The kiln is described in "),
        reference("/made-up/kiln.md"),
        markdown(", at 1,240 °C."),
        result=rounds(
            {"response": "", "toolCalls": [called], "id": "r1"},
            {"response": told, "toolCalls": [], "id": "r2"},
            call1="Cone 6: 1,240 °C",
        ),
    )
    undone = request(
        2, "Fire it now.", markdown("It is lit."), shouldBeRemovedOnSend={"requestId": "request_2"}
    )
    error = {"errorDetails": {"message": "The model did not answer."}}
    third = request(3, "How long does it cool?", isCanceled=True, result=error)
    return {
        "version": 3,
        "sessionId": SESSION,
        "creationDate": AT_MS,
        "lastMessageDate": AT_MS + 180_000,
        "customTitle": "The kiln",
        "requesterUsername": "juno",
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": [first, undone, third],
    }


def write(folder: Path) -> Path:
    """Write the chat as one document and return its path."""
    path = folder / f"{SESSION}.json"
    path.write_text(json.dumps(chat(), ensure_ascii=False, indent=2), encoding="utf-8")
    return path
