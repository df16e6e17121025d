"""`redraft export`: a checkpoint becomes a canonical ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft._core.errors import UsageError
from redraft.cli.options import CheckpointArgument, JsonFlag
from redraft.cli.output import note, print_fields, print_json, size_text

if TYPE_CHECKING:
    from redraft.export.checkpoint.base import Checkpoint
    from redraft.export.graph_spec import GraphSpec
    from redraft.export.precision import Precision


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("export")(export)


def export(
    checkpoint: CheckpointArgument,
    output: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the graph goes; replaces a graph there.")
    ],
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            help="fp32, fp16, bf16, int8, int4, source-exact; or by part: body=int4,embedding=int8,…",
        ),
    ] = "fp32",
    vocab_map: Annotated[
        Path | None, typer.Option("--map", help="Export a drafter whose head keeps the ids of this map.")
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option("--prior", help="RDK prior of the drafter. [default: kind tli, which needs none]"),
    ] = None,
    variant: Annotated[
        str, typer.Option("--variant", help="Of a drafter: redistributed (RDK in the graph) or factored.")
    ] = "redistributed",
    drop_layers: Annotated[
        str, typer.Option("--drop-layers", help="Layers that a drafter leaves out, from 0, e.g. 3,4,5.")
    ] = "",
    hidden: Annotated[bool, typer.Option("--hidden", help="Also output the head's input.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Export a checkpoint as a canonical ONNX graph: model.onnx, model.onnx.data, graph.json.

    Without --map it is a target's graph, with --map that of a pruned drafter.
    """
    from redraft.export.checkpoint import open_checkpoint
    from redraft.export.precision import Precision

    _check_drafter_options(vocab_map, prior, variant, drop_layers)
    layers = _layers(drop_layers)
    parsed = Precision.parse(precision)
    source = open_checkpoint(checkpoint)
    outputs = ("hidden",) if hidden else ()
    if vocab_map is None:
        from redraft.export import export_target

        spec = export_target(source, output, parsed, outputs=outputs)
    else:
        spec = _export_drafter(source, output, parsed, vocab_map, prior, variant, layers, outputs)
    note(f"wrote {output}")
    facts = _facts(spec, output)
    if json_:
        print_json(facts)
    else:
        print_fields(facts | {"bytes": size_text(facts["bytes"])})


def _export_drafter(
    source: Checkpoint,
    output: Path,
    precision: Precision,
    map_file: Path,
    prior_file: Path | None,
    variant: str,
    drop_layers: tuple[int, ...],
    outputs: tuple[str, ...],
) -> GraphSpec:
    from redraft.export import drafter_body_digest, export_drafter
    from redraft.rdk.prior import RdkPrior, load_prior
    from redraft.rdk.vocabulary import VocabMap

    kept = VocabMap.load(map_file)
    if prior_file is None:
        prior = RdkPrior("tli", kept.digest, drafter_body_digest(source, precision, drop_layers))
    else:
        prior = load_prior(prior_file)
    return export_drafter(
        source,
        output,
        precision,
        kept,
        prior,
        variant=variant,  # type: ignore[arg-type]
        drop_layers=drop_layers,
        outputs=outputs,
    )


def _check_drafter_options(
    vocab_map: Path | None, prior: Path | None, variant: str, drop_layers: str
) -> None:
    if variant not in ("redistributed", "factored"):
        raise UsageError(f"--variant: expected redistributed or factored, got '{variant}'")
    if vocab_map is None and (prior is not None or drop_layers or variant != "redistributed"):
        raise UsageError(
            "--prior, --drop-layers and --variant are a drafter's, and a drafter needs --map",
            hint="make a map with `redraft vocab build`",
        )


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise UsageError(f"--drop-layers: expected layer numbers such as 3,4,5, got '{text}'") from None


def _facts(spec: GraphSpec, folder: Path) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "role": spec.role,
        "variant": spec.variant,
        "precision": spec.precision,
        "sizes": spec.sizes,
        "opset": spec.opset,
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
    }
