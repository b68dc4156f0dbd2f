"""A tool: its words, its shapes, what it does to the memory, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from chronofile.infra.mcp.arguments import Arguments

if TYPE_CHECKING:
    from chronofile.infra.memory import Memory


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call is answered with: `structured` fits the tool's output schema, `text` says the same to a model."""

    text: str
    structured: Any


@dataclass(frozen=True, slots=True)
class Tool:
    """What a client is offered. The same call twice does to the memory what one does, with every tool.

    `saves`: it changes the memory; `hides`: something is no longer shown after it.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[BaseModel]
    run: Callable[[Memory, Any], Reply]
    saves: bool = False
    hides: bool = False
