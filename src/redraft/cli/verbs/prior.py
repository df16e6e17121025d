"""`redraft prior`: RDK priors, what spreads a pruned drafter's probability over the whole vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redraft._core.errors import InputFileError
from redraft.cli.options import BundleArgument, JsonFlag
from redraft.cli.output import note, print_fields, print_json

app = typer.Typer(
    name="prior",
    help="Make or look at an RDK prior: it spreads a pruned drafter's probability over all tokens.",
    no_args_is_help=True,
)


@app.command("fit")
def fit(
    bundle: BundleArgument,
    kind: Annotated[
        str, typer.Option("--kind", help="tli, shift, dense, first-order, bucket or low-rank.")
    ] = "low-rank",
    rank: Annotated[
        int, typer.Option("--rank", min=1, help="Of low-rank, and of the covariance for first-order.")
    ] = 32,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="Share of the kernel in dense and first-order, 0 to 1.")
    ] = 0.05,
    tau: Annotated[
        float | None,
        typer.Option("--tau", help="Temperature of dense and first-order. [default: from the covariance]"),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The prior's file.")] = Path(
        "rdk_prior.safetensors"
    ),
    json_: JsonFlag = False,
) -> None:
    """Make a prior for a bundle's drafter from the bundle's calibration statistics.

    This release makes unfitted priors only: they come from statistics in closed form, nothing is trained yet.
    To compile a drafter with another kind, set [rdk] kind in its recipe; `redraft export` takes the file.
    """
    from redraft.cli.unfitted import WITHOUT_STATISTICS, make_unfitted
    from redraft.engines.bundle import Bundle
    from redraft.export.checkpoint import open_checkpoint
    from redraft.rdk.prior import KINDS
    from redraft.rdk.statistics import CalibrationStatistics
    from redraft.rdk.vocabulary import VocabMap

    opened = Bundle.open(bundle)
    part = opened.part("drafter")
    statistics = None
    if kind in KINDS and kind not in WITHOUT_STATISTICS:
        path = opened.folder / "calibration" / "statistics.safetensors"
        if not path.is_file():
            raise InputFileError(
                f"bundle {bundle} has no calibration statistics, which kind {kind} needs",
                hint=f'compile it with [rdk] kind = "{kind}" in its recipe',
            )
        statistics = CalibrationStatistics.load(path)
    prior = make_unfitted(
        kind,
        VocabMap.load(opened.vocab_map_file),
        part.body_digest or "",
        open_checkpoint(part.source.uri),
        statistics,
        rank=rank,
        epsilon=epsilon,
        tau=tau,
    )
    prior.save(output)
    note(f"wrote {output}")
    _show(output, json_)


@app.command("inspect")
def inspect(
    prior: Annotated[Path, typer.Argument(metavar="PRIOR", help="A prior, or a bundle.")],
    json_: JsonFlag = False,
) -> None:
    """Say of which kind a prior is, how large, and what it is bound to."""
    _show(prior / "rdk_prior.safetensors" if prior.is_dir() else prior, json_)


def _show(path: Path, as_json: bool) -> None:
    from redraft.cli.inspection.artefacts import describe_prior

    facts = {"path": str(path), **describe_prior(path).facts}
    if as_json:
        print_json(facts)
    else:
        print_fields(facts)
