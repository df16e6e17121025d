"""The axis letters of redraft, defined once. Shape comments, graphs, profiles and docs all use these."""

from __future__ import annotations

AXES: dict[str, str] = {
    "B": "batch",
    "S": "new tokens in a call",
    "R": "rows of logits asked for",
    "K": "draft length",
    "T": "target vocabulary (logit rows)",
    "D": "kept (hot) rows of the drafter's head",
    "C": "pruned (cold) rows, T - D",
    "E": "hidden size",
    "F": "fused feature layers",
    "L": "layers",
    "H": "query heads",
    "G": "key/value heads",
    "Hd": "head size",
    "N": "cache capacity",
    "r": "prior rank",
}
"""Letter -> meaning."""
