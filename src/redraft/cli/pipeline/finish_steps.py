"""The last steps: the manifest with the recipe, and the check of the whole bundle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from redraft import __version__
from redraft._core.atomic import atomic_file
from redraft._core.digest import digest_json
from redraft._core.errors import RedraftError
from redraft.export.graph_spec import GraphSpec, Role

from .journal import JOURNAL
from .work import Work

if TYPE_CHECKING:
    from redraft.engines.bundle import Manifest, Part, PriorEntry

RECIPE_FILE = "recipe.toml"
MANIFEST = "manifest.json"


def write_bundle(
    work: Work,
    recipe_text: str,
    facts: dict[str, dict[str, Any]],
    engines: Sequence[dict[str, Any]],
) -> None:
    """Write `recipe.toml` and `manifest.json`.

    `facts`: of the steps tokenizer, target, map, prior and drafter.
    """

    def run() -> dict[str, Any]:
        from redraft.engines.bundle import write_manifest

        with atomic_file(work.folder / RECIPE_FILE) as path:
            path.write_text(recipe_text, encoding="utf-8")
        work.journal.drop_unused()
        write_manifest(work.folder, _manifest(work, facts, engines))
        return {}

    inputs = {
        "recipe": digest_json([recipe_text, work.recipe.to_json()]),
        "facts": facts,
        "engines": list(engines),
    }
    left = [RECIPE_FILE, MANIFEST]
    work.step("manifest", "manifest", inputs=inputs, layer="runtime", outputs=left, run=run)


def _manifest(work: Work, facts: dict[str, dict[str, Any]], engines: Sequence[dict[str, Any]]) -> Manifest:
    from redraft.engines.bundle import EngineEntry, Manifest, describe_files
    from redraft.engines.bundle.manifest import ProfileEntry

    profile = ProfileEntry(**dataclasses.asdict(work.profile))
    entries = tuple(
        EngineEntry(**{**item, "passes": tuple(item["passes"])}, profile=profile) for item in engines
    )
    target, drafter = _part(work, "target", facts["target"]), _part(work, "drafter", facts["drafter"])
    return Manifest(
        redraft_version=__version__,
        name=work.recipe.name,
        notice=work.recipe.notice or None,
        recipe=RECIPE_FILE,
        tokenizer_digest=facts["tokenizer"]["digest"],
        map_digest=facts["map"]["digest"],
        prior=_prior(facts["prior"]),
        target=target,
        drafter=drafter,
        engines=entries,
        files=describe_files(work.folder, _described(work)),
        extra={"calibration": facts["text"], "settings": work.recipe.to_json()},
    )


def _described(work: Work) -> list[str]:
    """Everything at the top of the folder but the manifest, the journal and hidden files."""
    skipped = {MANIFEST, JOURNAL}
    names = (path.name for path in work.folder.iterdir())
    return sorted(name for name in names if name not in skipped and not name.startswith("."))


def _part(work: Work, role: Role, facts: dict[str, Any]) -> Part:
    from redraft.engines.bundle import Part, SourceEntry

    spec = GraphSpec.read(work.folder / facts["folder"])
    precision = work.target_precision if role == "target" else work.drafter_precision
    source = {**facts["source"], "license_files": tuple(facts["source"]["license_files"])}
    return Part(
        folder=facts["folder"],
        kind="target" if role == "target" else work.recipe.drafter.kind,
        source=SourceEntry(**source),
        precision=precision.label,
        variant=spec.variant,
        opset=spec.opset,
        body_digest=spec.body_digest,
        map_digest=spec.map_digest,
        prior_digest=spec.prior_digest,
    )


def _prior(facts: dict[str, Any]) -> PriorEntry:
    from redraft.engines.bundle import PriorEntry

    return PriorEntry(kind=facts["kind"], digest=facts["digest"], fitted=False)


def verify_bundle(
    work: Work, facts: dict[str, dict[str, Any]], engines: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Check every engine against its graph, and greedy speculation against plain decoding; facts: the checks.

    RedraftError where a check fails: the bundle is then not put in its place.
    """

    def run() -> dict[str, Any]:
        from redraft.cli.verification import verify
        from redraft.engines.bundle import Bundle
        from redraft.engines.verification.check import passed

        checks = verify(Bundle.open(work.folder), thorough=False)
        if not passed(checks):
            failed = next(check for check in checks if check.ok is False)
            raise RedraftError(
                f"the compiled bundle does not verify: {failed.name}: {failed.sentence}",
                hint=f"look at it with `redraft verify {work.folder}`",
            )
        return {"checks": [check.to_json() for check in checks]}

    inputs = {"facts": facts, "engines": list(engines)}
    return work.step("verify", "verification", inputs=inputs, layer="runtime", outputs=[], run=run)
