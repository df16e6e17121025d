"""A bundle compiled from a tiny random checkpoint by the real pipeline, in seconds."""

from __future__ import annotations

from pathlib import Path

RECIPE = """\
notice = "These weights are random."

[target]
checkpoint = "{checkpoint}"

[vocabulary]
keep = {keep}

[rdk]
kind = "{kind}"
rank = 4

[calibration]
tokens = 200
tokens_per_prompt = 24

[runtime]
num_speculative_tokens = 3
context = 224

[build]
max_prefill = 32
max_decode = 8
"""


def write_tiny_recipe(path: Path, checkpoint: Path, *, kind: str = "low-rank", keep: float = 0.9) -> Path:
    """A recipe for a tiny checkpoint; `keep` must leave room for its 257 byte and special tokens."""
    path.write_text(RECIPE.format(checkpoint=checkpoint, kind=kind, keep=keep), encoding="utf-8")
    return path


def compile_tiny(recipe: Path, bundle: Path) -> Path:
    """Compile a recipe into `bundle` and return it."""
    from redraft.cli.pipeline.compile import compile_recipe
    from redraft.cli.recipe import load_recipe

    compile_recipe(load_recipe(recipe), recipe.read_text(encoding="utf-8"), bundle)
    return bundle
