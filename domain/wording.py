"""Wording: how sentences for people say a number of things."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural where it is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
