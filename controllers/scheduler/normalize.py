"""Bringing raw scores to 0..100."""

from __future__ import annotations

from controllers.scheduler.interface import MAX_NODE_SCORE


def by_maximum(scores: list[int], is_reversed: bool = False) -> list[int]:
    """The highest becomes 100, the rest their share of it; reversed, the highest becomes 0."""
    highest = max(scores, default=0)
    if highest == 0:
        return [MAX_NODE_SCORE] * len(scores) if is_reversed else scores
    shares = [MAX_NODE_SCORE * score // highest for score in scores]
    return [MAX_NODE_SCORE - share for share in shares] if is_reversed else shares
