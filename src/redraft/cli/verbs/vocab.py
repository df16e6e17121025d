"""`redraft vocab`: vocabulary maps, the tokens that a pruned drafter keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft._core.errors import UsageError
from redraft.cli.options import JsonFlag
from redraft.cli.output import note, print_fields, print_json, print_table

if TYPE_CHECKING:
    from redraft.cli.vocabulary_sources import Model
    from redraft.rdk.vocabulary import Coverage, MapBuild, VocabMap
    from redraft.runtime.text import TextTokenizer

app = typer.Typer(
    name="vocab",
    help="Make, import or look at a vocabulary map: the tokens that a drafter keeps.",
    no_args_is_help=True,
)

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Whose tokenizer it is: a bundle, folder, hub id, .gguf file or package:NAME."
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The map's file.")]


@app.command("build")
def build(
    model: ModelArgument,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus", help="Keep the most frequent tokens of this text file; may be given several times."
        ),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--list", help="Keep the target ids in this file: one a line, or a JSON list."),
    ] = None,
    generate: Annotated[
        int | None,
        typer.Option(
            "--generate",
            min=1,
            help="Let MODEL, a bundle, write so many tokens and keep what is likeliest in its text.",
        ),
    ] = None,
    keep: Annotated[
        float | None, typer.Option("--keep", help="Fraction of the model's rows to keep. [default: 0.1]")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", help="Number of rows to keep, instead of --keep.")
    ] = None,
    output: Output = Path("vocab_map.safetensors"),
    json_: JsonFlag = False,
) -> None:
    """Make a map from a corpus, from text that the model writes, or from a list.

    Special, added, chat-template, stop and byte tokens are always kept. Where fewer tokens were seen than
    asked for, the lowest ids fill the map, and it says so.
    """
    from redraft.cli.vocabulary_sources import open_model

    if sum(source not in (None, []) for source in (corpus, ids, generate)) != 1:
        raise UsageError("give exactly one of --corpus, --list and --generate")
    if ids is not None and (keep is not None or size is not None):
        raise UsageError("--list keeps what it lists: leave out --keep and --size")
    if keep is None and size is None:
        keep = 0.1
    opened = open_model(model)
    if ids is not None:
        built = _from_list(opened, ids)
    else:
        from redraft.rdk.vocabulary import build_from_scores

        scores = _corpus_counts(opened, corpus) if corpus else _generated_scores(model, generate or 0)
        built = build_from_scores(scores, opened.tokenizer.info, keep=keep, size=size)
    built.vocab_map.save(output)
    note(f"wrote {output}: {built.note}")
    _report(built, output, json_)


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Another program's map: FR-Spec or SGLang freq_*.pt, EAGLE-3 weights with d2t, "
            "Edge-LLM vocab_map.safetensors.",
        ),
    ],
    model: ModelArgument,
    output: Output = Path("vocab_map.safetensors"),
    json_: JsonFlag = False,
) -> None:
    """Make a map of another program's file, for the model that it belongs to.

    Whether the file lists offsets or ids is decided by proof; where neither can be proven it is refused.
    """
    from redraft.cli.vocabulary_sources import open_model
    from redraft.rdk.vocabulary import build_from_ids
    from redraft.rdk.vocabulary.imports import import_ids

    opened = open_model(model)
    built = build_from_ids(import_ids(source, opened.rows), opened.tokenizer.info, rows=opened.rows)
    built.vocab_map.save(output)
    note(f"wrote {output}: {built.note}")
    _report(built, output, json_)


@app.command("inspect")
def inspect(
    vocab_map: Annotated[Path, typer.Argument(metavar="MAP", help="A map, or a bundle.")],
    text: Annotated[
        list[Path] | None,
        typer.Option(
            "--text", help="Also say how much of this text file the map covers; may be given several times."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", help="The model whose tokenizer reads the text. [default: MAP, where it is a bundle]"
        ),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Say what a map keeps and, with --text, how much of your own text it covers.

    A drafter without redistribution can never propose what its map leaves out: coverage is the ceiling of its
    acceptance.
    """
    from redraft.rdk.vocabulary import VocabMap

    is_bundle = (vocab_map / "manifest.json").is_file()
    loaded = VocabMap.load(vocab_map / "vocab_map.safetensors" if is_bundle else vocab_map)
    facts = _facts(loaded)
    if text:
        name = model or (str(vocab_map) if is_bundle else None)
        if name is None:
            raise UsageError("--text needs --model: the text has to be read by the model's tokenizer")
        facts["coverage"] = _coverage(loaded, name, text)
    if json_:
        print_json(facts)
        return
    missing = facts.get("coverage", {}).pop("missing", [])
    print_fields(facts)
    if missing:
        print("\nmost frequent tokens outside the map")
        print_table(
            ["id", "token", "count"], [[item["id"], repr(item["text"]), item["count"]] for item in missing]
        )


def _from_list(model: Model, path: Path) -> MapBuild:
    from redraft.cli.vocabulary_sources import read_ids
    from redraft.rdk.vocabulary import build_from_ids

    return build_from_ids(read_ids(path), model.tokenizer.info, rows=model.rows)


def _corpus_counts(model: Model, paths: list[Path]) -> Any:
    from redraft.cli.vocabulary_sources import tokens_of_text
    from redraft.rdk.vocabulary import count_tokens

    return count_tokens((ids for path in paths for ids in tokens_of_text(path, model.tokenizer)), model.rows)


def _generated_scores(bundle: str, num_tokens: int) -> Any:
    """[T]: the target's mean probability row along text that it writes itself."""
    from redraft.cli.output import progress
    from redraft.engines.bundle import Bundle, load_engine
    from redraft.runtime.calibration import collect_statistics, generate_text
    from redraft.runtime.text import TextTokenizer

    opened = Bundle.open(bundle)
    tokenizer = TextTokenizer.read(opened.tokenizer_folder)
    with load_engine(opened, "target") as engine:
        with progress("tokens") as advance:
            text = generate_text(engine, tokenizer, num_tokens=num_tokens, progress=advance)
        with progress("positions") as advance:
            found = collect_statistics(engine, text, num_tokens=tokenizer.info.size, progress=advance)
    return found.rows.mean


def _coverage(vocab_map: VocabMap, model_name: str, paths: list[Path]) -> dict[str, Any]:
    from redraft.cli.vocabulary_sources import open_model
    from redraft.rdk.vocabulary import coverage_of_counts

    model = open_model(model_name)
    vocab_map.check_tokenizer(model.tokenizer.info.digest)
    found: Coverage = coverage_of_counts(vocab_map, _corpus_counts(model, paths))
    return {
        "tokens": found.num_tokens,
        "covered": found.num_covered,
        "share": found.share,
        "missing": [_token(model.tokenizer, token, count) for token, count in found.missing],
    }


def _token(tokenizer: TextTokenizer, token: int, count: int) -> dict[str, Any]:
    return {"id": token, "text": tokenizer.decode([token], skip_special_tokens=False), "count": count}


def _facts(vocab_map: VocabMap) -> dict[str, Any]:
    return {
        "kept": vocab_map.num_hot,
        "rows": vocab_map.rows,
        "keep": vocab_map.keep,
        "padding_rows": vocab_map.rows - vocab_map.num_tokens,
        "digest": vocab_map.digest,
        "tokenizer_digest": vocab_map.tokenizer_digest,
    }


def _report(built: MapBuild, output: Path, as_json: bool) -> None:
    facts = {
        "path": str(output),
        **_facts(built.vocab_map),
        "always_kept": built.num_always,
        "by_score": built.num_scored,
        "filled": built.num_filled,
    }
    if as_json:
        print_json(facts)
    else:
        print_fields(facts)
