"""The ranges of a recipe's values, and what must stand together."""

from __future__ import annotations

from redraft._core.errors import UsageError
from redraft.export.precision import Precision
from redraft.rdk.prior import KINDS

from .schema import Recipe


def check_recipe(recipe: Recipe) -> None:
    """Raise UsageError, naming the key, where a value is out of its range or contradicts another."""
    Precision.parse(recipe.target.precision)
    Precision.parse(recipe.drafter.precision)
    _check_drafter(recipe)
    _check_vocabulary(recipe)
    _check_rdk(recipe)
    _check_sizes(recipe)
    if not recipe.build.backends:
        raise UsageError("recipe: 'build.backends' is empty", hint='name at least one, e.g. ["ort-cpu"]')


def _check_drafter(recipe: Recipe) -> None:
    drafter = recipe.drafter
    if drafter.kind == "model" and drafter.checkpoint is None:
        raise UsageError("recipe: drafter.kind 'model' needs 'drafter.checkpoint'")
    if drafter.kind == "self" and drafter.checkpoint is not None:
        raise UsageError(
            "recipe: drafter.kind 'self' takes no 'drafter.checkpoint'", hint='write kind = "model"'
        )
    if any(layer < 0 for layer in drafter.drop_layers):
        raise UsageError(f"recipe: 'drafter.drop_layers' counts from 0, got {list(drafter.drop_layers)}")


def _check_vocabulary(recipe: Recipe) -> None:
    vocabulary = recipe.vocabulary
    if not 0 < vocabulary.keep <= 1:
        raise UsageError(
            f"recipe: 'vocabulary.keep' is a fraction above 0 and at most 1, got {vocabulary.keep}"
        )
    if (vocabulary.source == "generated") != (vocabulary.path is None):
        verb = "takes no" if vocabulary.source == "generated" else "needs"
        raise UsageError(f"recipe: vocabulary.source '{vocabulary.source}' {verb} 'vocabulary.path'")


def _check_rdk(recipe: Recipe) -> None:
    rdk = recipe.rdk
    if rdk.kind not in KINDS:
        raise UsageError(f"recipe: 'rdk.kind' is one of {', '.join(KINDS)}, got '{rdk.kind}'")
    if rdk.rank < 1:
        raise UsageError(f"recipe: 'rdk.rank' is at least 1, got {rdk.rank}")
    if not 0 <= rdk.epsilon <= 1:
        raise UsageError(f"recipe: 'rdk.epsilon' lies between 0 and 1, got {rdk.epsilon}")
    if rdk.tau is not None and rdk.tau <= 0:
        raise UsageError(f"recipe: 'rdk.tau' is above 0, got {rdk.tau}")


def _check_sizes(recipe: Recipe) -> None:
    at_least = {
        "calibration.tokens": (recipe.calibration.tokens, 1),
        "calibration.tokens_per_prompt": (recipe.calibration.tokens_per_prompt, 1),
        "runtime.num_speculative_tokens": (recipe.runtime.num_speculative_tokens, 0),
        "runtime.context": (recipe.runtime.context, 2),
        "runtime.cache_capacity": (recipe.runtime.cache_capacity, 0),
        "runtime.threads": (recipe.runtime.threads, 0),
        "build.max_prefill": (recipe.build.max_prefill, 1),
        "build.max_decode": (recipe.build.max_decode, 1),
    }
    for name, (value, least) in at_least.items():
        if value < least:
            raise UsageError(f"recipe: '{name}' is at least {least}, got {value}")
    if recipe.calibration.temperature < 0:
        raise UsageError(
            f"recipe: 'calibration.temperature' is at least 0, got {recipe.calibration.temperature}"
        )
    if recipe.runtime.num_speculative_tokens + 1 > recipe.build.max_decode:
        raise UsageError(
            f"recipe: 'build.max_decode' {recipe.build.max_decode} is narrower than a verification of "
            f"{recipe.runtime.num_speculative_tokens} drafted tokens and one more",
            hint="raise build.max_decode or lower runtime.num_speculative_tokens",
        )
    if recipe.capacity < recipe.runtime.context:
        raise UsageError(
            f"recipe: 'runtime.cache_capacity' {recipe.capacity} is below 'runtime.context'",
            hint="leave cache_capacity out: it then follows from the context",
        )
