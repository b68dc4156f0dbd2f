"""Stream names: `category-id`, as stored."""

from __future__ import annotations


def source(source_id: str) -> str:
    return f"source-{source_id}"


def batch(batch_id: str) -> str:
    return f"batch-{batch_id}"


def erasure(erasure_id: str) -> str:
    return f"erasure-{erasure_id}"


def memory(memory_id: str) -> str:
    return f"memory-{memory_id}"


def scope(name: str) -> str:
    return f"scope-{name}"


def search(search_id: str) -> str:
    return f"search-{search_id}"


def id_of(stream: str) -> str:
    """Return what stands behind the category: the source's id, the scope's name."""
    return stream.split("-", 1)[1]
