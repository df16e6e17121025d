"""The order of a compilation: from a recipe to a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError, RedraftError
from redraft.cli.output import note
from redraft.cli.recipe import Recipe
from redraft.cli.unfitted import WITHOUT_STATISTICS

from . import drafter_steps, engine_steps, finish_steps, graph_steps, statistics_step, text_step
from .journal import Journal, StepNeededError
from .staging import compiling, partial_folder, publish, start_partial
from .work import Work


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compilation did. `skipped`: backend -> why it was not built for."""

    bundle: Path
    up_to_date: bool
    backends: tuple[str, ...]
    skipped: dict[str, str]


def compile_recipe(recipe: Recipe, recipe_text: str, bundle: Path) -> Compiled:
    """Compile `recipe` into the folder `bundle`, running only the steps whose inputs have changed.

    The bundle appears whole: it grows in a hidden folder beside its place, in which an interrupted
    compilation is resumed.

    Raises:
        InputFileError: `bundle` is there and is no bundle.
        RedraftError: a step failed; finished steps are kept for the next run.
    """
    _check_place(bundle)
    backends, skipped = engine_steps.choose_backends(recipe.build.backends)
    with compiling(bundle):
        if _is_up_to_date(recipe, recipe_text, bundle, backends):
            return Compiled(bundle, True, backends, skipped)
        try:
            partial = start_partial(bundle)
            run_steps(Work(recipe, Journal.open(partial, base=bundle), backends), recipe_text)
        except OSError as error:
            raise RedraftError(
                f"compiling {bundle} failed: {error.filename or partial_folder(bundle)}: {error.strerror}",
                hint="finished steps are kept: free some space or mend the file, then run it again",
            ) from error
        publish(partial, bundle)
    return Compiled(bundle, False, backends, skipped)


def run_steps(work: Work, recipe_text: str) -> None:
    """Every step, in order; those that are done are skipped by the journal."""
    tokenizer = graph_steps.export_tokenizer(work)
    target = graph_steps.export_target_graph(work)
    target_engines = engine_steps.build_engines(work, "target", target)
    text, statistics = _calibrate(work, tokenizer, target, target_engines)
    vocab_map = drafter_steps.build_map(work, tokenizer, target, statistics)
    prior = drafter_steps.make_prior(work, vocab_map, statistics)
    drafter = drafter_steps.export_drafter(work, vocab_map, prior)
    drafter_engines = engine_steps.build_engines(work, "drafter", drafter)
    facts = {
        "tokenizer": tokenizer,
        "target": target,
        "text": text,
        "map": vocab_map,
        "prior": prior,
        "drafter": drafter,
    }
    engines = [*target_engines.values(), *drafter_engines.values()]
    finish_steps.write_bundle(work, recipe_text, facts, engines)
    finish_steps.verify_bundle(work, facts, engines)


def _calibrate(
    work: Work, tokenizer: dict[str, Any], target: dict[str, Any], engines: dict[str, dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts of the text and of the statistics; none of either where neither map nor prior looks at them."""
    if work.recipe.vocabulary.source != "generated" and work.recipe.rdk.kind in WITHOUT_STATISTICS:
        return {}, {}
    text = text_step.write_text(work, tokenizer, target, engines)
    return text, statistics_step.collect(work, target, engines, text)


def _is_up_to_date(recipe: Recipe, recipe_text: str, bundle: Path, backends: tuple[str, ...]) -> bool:
    if not (bundle / "manifest.json").is_file():
        return False
    try:
        run_steps(Work(recipe, Journal.open(bundle, only_read=True), backends), recipe_text)
    except StepNeededError:
        return False
    except RedraftError as error:
        note(f"{bundle} cannot be reused and is made again: {error.message}")
        return False
    return True


def _check_place(bundle: Path) -> None:
    if not bundle.exists():
        return
    if not bundle.is_dir() or (any(bundle.iterdir()) and not (bundle / "manifest.json").is_file()):
        raise InputFileError(
            f"{bundle} is there and is no bundle", hint="give another --output, or move it away"
        )
