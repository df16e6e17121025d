"""Verbs that take a bundle: their JSON, their text, and a bundle that was moved or damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Program


def test_generate_prints_the_text_alone_on_stdout(tiny_bundle: Path, program: Program) -> None:
    streamed = program("generate", tiny_bundle, "hello", "--max-tokens", 12)
    whole = json.loads(program("generate", tiny_bundle, "hello", "--max-tokens", 12, "--json").out)
    assert streamed.code == 0
    assert streamed.out == whole["text"] + "\n"
    assert whole["usage"]["completion_tokens"] == len(whole["token_ids"])
    assert whole["finish_reason"] in ("stop", "length")
    assert {"acceptance_rate", "mean_acceptance_length", "oov"} <= whole["acceptance"].keys()


def test_a_moved_bundle_gives_the_same_text(tiny_bundle: Path, program: Program, tmp_path: Path) -> None:
    arguments = ("hello", "--max-tokens", 12, "--deterministic")
    first = program("generate", tiny_bundle, *arguments)
    moved = shutil.copytree(tiny_bundle, tmp_path / "elsewhere" / "renamed")
    assert program("generate", moved, *arguments).out == first.out


def test_without_speculation_the_deterministic_text_is_the_same(tiny_bundle: Path, program: Program) -> None:
    arguments = (tiny_bundle, "tell me", "--max-tokens", 24, "--deterministic", "--json")
    drafted = json.loads(program("generate", *arguments).out)
    config = '{"num_speculative_tokens": 3}'
    configured = json.loads(program("generate", *arguments, "--speculative-config", config).out)
    plain = json.loads(program("generate", *arguments, "--no-speculation").out)
    assert drafted["acceptance"]["drafted"] > 0
    assert plain["acceptance"]["drafted"] == 0
    assert drafted["token_ids"] == configured["token_ids"] == plain["token_ids"]


def test_a_seed_repeats_a_sampled_text(tiny_bundle: Path, program: Program) -> None:
    arguments = (tiny_bundle, "hello", "--temperature", 1, "--max-tokens", 16, "--json")
    first = json.loads(program("generate", *arguments).out)
    again = json.loads(program("generate", *arguments, "--seed", first["seed"]).out)
    other = json.loads(program("generate", *arguments, "--seed", first["seed"] ^ 1).out)
    assert first["token_ids"] == again["token_ids"]
    assert first["token_ids"] != other["token_ids"]


def test_print_config_shows_resolved_settings_and_decodes_nothing(
    tiny_bundle: Path, program: Program
) -> None:
    for verb, rest in (("generate", ["hello"]), ("bench", [])):
        finished = program(verb, tiny_bundle, *rest, "--print-config", "-k", 2)
        options = json.loads(finished.out)["options"]
        assert options["num_speculative_tokens"] == 2
        assert options["context"] == 224, "from the bundle's recipe"


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (["-k", 8], "num_speculative_tokens 8 needs calls of 9 tokens"),
        (["--backend", "tensorrt"], "backend 'tensorrt'"),
        (["--speculative-config", '{"method": "eagle"}'], "method must be one of"),
        (["--speculative-config", '{"num_speculative_token": 3}'], "num_speculative_tokens"),
        (["--cache-capacity", 4], "cache"),
    ],
)
def test_an_option_that_the_bundle_cannot_serve_is_refused(
    arguments: list[object], phrase: str, tiny_bundle: Path, program: Program
) -> None:
    finished = program("generate", tiny_bundle, "hello", "--max-tokens", 2, *arguments)
    assert finished.code in (1, 2)
    assert phrase in finished.err
    assert finished.out == ""


def test_a_prompt_longer_than_the_context_is_refused(tiny_bundle: Path, program: Program) -> None:
    finished = program("generate", tiny_bundle, "hello " * 300)
    assert finished.code == 2
    assert "leaves no room in a context of 224" in finished.err


def test_demo_compares_both_runs(tiny_bundle: Path, program: Program) -> None:
    report = json.loads(program("demo", tiny_bundle, "hello", "--max-tokens", 12, "--json").out)
    assert report["agree"]
    assert report["text"] == report["target_only_text"]
    assert report["tokens_per_second"].keys() == {"speculative", "target_only"}
    assert report["oov"].keys() == {"proposed", "accepted"}
    printed = program("demo", tiny_bundle, "hello", "--max-tokens", 12).out
    for phrase in (
        "texts agree",
        "acceptance rate",
        "accepted outside the drafter's vocabulary",
        report["text"],
    ):
        assert phrase in printed


def test_demo_fails_where_the_deterministic_texts_differ(
    tiny_bundle: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redraft.runtime.decoding import acceptance_rule

    monkeypatch.setattr(acceptance_rule, "accept_probability", lambda p, q, token: 1.0)
    finished = program("demo", tiny_bundle, "hello", "--max-tokens", 24)
    assert finished.code == 1
    assert "differ in the default mode" in finished.err


def test_bench_prints_what_the_conventions_promise(tiny_bundle: Path, program: Program) -> None:
    finished = program("bench", tiny_bundle, "--max-tokens", 8, "--repeats", 1, "--no-memory", "--json")
    report = json.loads(finished.out)
    assert report["identical"] is True
    assert report["divergences"] == []
    for path in (
        ("plain", "tokens_per_second"),
        ("speculative", "tokens_per_second"),
        ("speedup", "observed"),
        ("oov", "proposed"),
        ("oov", "accepted"),
    ):
        assert isinstance(report[path[0]][path[1]], int | float)
    for name in ("acceptance_rate", "mean_acceptance_length", "mean_accepted_drafts"):
        assert isinstance(report[name], float)


def test_verify_passes_on_a_good_bundle(tiny_bundle: Path, program: Program) -> None:
    finished = program("verify", tiny_bundle, "--json")
    report = json.loads(finished.out)
    assert finished.code == 0
    assert report["ok"]
    names = " ".join(check["name"] for check in report["checks"])
    for phrase in ("files", "target graph", "drafter graph", "drafter on ort-cpu", "deterministic mode"):
        assert phrase in names


def test_verify_finds_one_changed_byte(tiny_bundle: Path, program: Program, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_bundle, tmp_path / "copy")
    path = copy / "target" / "fp32" / "model.onnx.data"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x40
    path.write_bytes(content)
    finished = program("verify", copy)
    assert finished.code == 1
    assert "FAILED   files: target/fp32/model.onnx.data" in finished.out


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("manifest.json", "is damaged"),
        ("vocab_map.safetensors", "vocab_map.safetensors"),
        ("tokenizer/tokens.json", "tokens.json"),
    ],
)
def test_a_damaged_bundle_is_refused_in_words(
    name: str, phrase: str, tiny_bundle: Path, program: Program, tmp_path: Path
) -> None:
    copy = shutil.copytree(tiny_bundle, tmp_path / "copy")
    (copy / name).write_bytes((copy / name).read_bytes()[:-9])
    finished = program("generate", copy, "hello")
    assert finished.code == 1
    assert phrase in finished.err
    assert "Traceback" not in finished.err
    assert "unexpected" not in finished.err


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "bundle"),
        ("manifest.json", "bundle"),
        ("target/fp32", "graph"),
        ("drafter/int4/model.onnx", "graph"),
        ("tokenizer", "tokenizer"),
        ("recipe.toml", "recipe"),
        ("vocab_map.safetensors", "vocabulary map"),
        ("rdk_prior.safetensors", "RDK prior"),
    ],
)
def test_inspect_says_what_each_part_is(path: str, kind: str, tiny_bundle: Path, program: Program) -> None:
    assert json.loads(program("inspect", tiny_bundle / path, "--json").out)["type"] == kind
    assert program("inspect", tiny_bundle / path).out.startswith(kind)


def test_inspect_says_what_engines_and_checkpoints_are(tiny_bundle: Path, program: Program) -> None:
    (engine, *_) = (tiny_bundle / "engines" / "ort-cpu").iterdir()
    assert json.loads(program("inspect", engine, "--json").out)["type"] == "engine"
    source = json.loads(program("inspect", tiny_bundle, "--json").out)["target"]["source"]
    described = json.loads(program("inspect", source, "--json").out)
    assert (described["type"], described["family"]) == ("checkpoint", "llama")


def test_inspect_refuses_what_it_does_not_know(program: Program, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"?")
    (tmp_path / "x.safetensors").write_bytes(b"?" * 40)
    for name in ("", "x.bin", "x.safetensors"):
        finished = program("inspect", tmp_path / name)
        assert finished.code == 1
        assert finished.err.startswith("error: ")
        assert "unexpected" not in finished.err


def test_build_keeps_an_engine_that_is_there(tiny_bundle: Path, program: Program, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_bundle, tmp_path / "copy")
    shapes = ("--max-prefill", 32, "--max-decode", 8, "--cache-capacity", 256)
    finished = program("build", copy, *shapes, "--json")
    assert finished.code == 0, finished.err
    assert {entry["role"] for entry in json.loads(finished.out)["engines"]} == {"target", "drafter"}
    engines = sorted(path.name for path in (copy / "engines" / "ort-cpu").iterdir() if path.is_dir())
    assert engines == sorted(path.name for path in (tiny_bundle / "engines" / "ort-cpu").iterdir())


def test_build_makes_an_engine_of_a_single_graph(tiny_bundle: Path, program: Program, tmp_path: Path) -> None:
    finished = program("build", tiny_bundle / "target" / "fp32", "--output", tmp_path, "--json")
    (built,) = json.loads(finished.out)["engines"]
    assert Path(built["folder"]).is_relative_to(tmp_path)
    assert (Path(built["folder"]) / "build.json").is_file()


def test_export_writes_a_target_and_a_drafter(tiny_bundle: Path, program: Program, tmp_path: Path) -> None:
    source = json.loads(program("inspect", tiny_bundle, "--json").out)["target"]["source"]
    target = json.loads(program("export", source, tmp_path / "t", "--precision", "int8", "--json").out)
    assert (target["role"], target["precision"]["body"]) == ("target", "int8")
    made = program(
        *("export", source, tmp_path / "d", "--precision", "int4", "--json"),
        *("--map", tiny_bundle / "vocab_map.safetensors", "--prior", tiny_bundle / "rdk_prior.safetensors"),
    )
    assert json.loads(made.out)["variant"] == "redistributed"


def test_a_prior_of_another_kind_is_made_from_the_bundles_statistics(
    tiny_bundle: Path, program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "p.safetensors"
    made = program("prior", "fit", tiny_bundle, "--kind", "first-order", "--rank", 3, "-o", path, "--json")
    assert made.code == 0, made.err
    assert json.loads(program("prior", "inspect", path, "--json").out)["kind"] == "first-order"
    refused = program("prior", "fit", tiny_bundle, "--kind", "lowrank", "-o", path)
    assert refused.code == 2
    assert "kind 'lowrank' is unknown" in refused.err


def test_a_map_is_built_of_a_corpus_and_its_coverage_told(
    tiny_bundle: Path, program: Program, tmp_path: Path
) -> None:
    corpus, path = tmp_path / "corpus.txt", tmp_path / "map.safetensors"
    corpus.write_text("the quick brown fox jumps over the lazy dog\n" * 20)
    built = program("vocab", "build", tiny_bundle, "--corpus", corpus, "--size", 275, "-o", path, "--json")
    assert built.code == 0, built.err
    assert json.loads(built.out)["kept"] == 275
    arguments = ("vocab", "inspect", path, "--text", corpus)
    inspected = json.loads(program(*arguments, "--model", tiny_bundle, "--json").out)
    assert inspected["coverage"]["share"] > 0.9
    assert program(*arguments).code == 2, "the text needs a tokenizer"


def test_a_map_is_built_of_text_that_the_bundle_writes(
    tiny_bundle: Path, program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "map.safetensors"
    built = program("vocab", "build", tiny_bundle, "--generate", 30, "--keep", 0.9, "-o", path)
    assert built.code == 0, built.err
    assert path.is_file()


@pytest.mark.parametrize(
    ("content", "phrase"), [("1\nx\n", "got 'x'"), ("[1, 2.5]", "got 2.5"), ("", "lists no")]
)
def test_a_list_that_is_none_is_refused(
    content: str, phrase: str, tiny_bundle: Path, program: Program, tmp_path: Path
) -> None:
    listed = tmp_path / "ids"
    listed.write_text(content)
    finished = program("vocab", "build", tiny_bundle, "--list", listed, "-o", tmp_path / "m.safetensors")
    assert finished.code == 1
    assert phrase in finished.err
    assert not (tmp_path / "m.safetensors").exists()
