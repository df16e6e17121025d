"""Whether the files of a bundle belong together: graphs, engines, map, prior and tokenizer, by digest."""

from __future__ import annotations

from redraft._core.errors import RedraftError
from redraft.engines.bundle import Bundle
from redraft.engines.bundle.load_engine import check_belongs
from redraft.engines.cache import graph_digest
from redraft.export.graph_spec import GraphSpec, Role
from redraft.rdk.prior import check_prior, load_prior
from redraft.rdk.vocabulary import TokenizerInfo, VocabMap

from .check import Check


def check_belonging(bundle: Bundle) -> Check:
    """One check over all digests: each artefact's own against what the manifest and the others say of it."""
    problems: list[str] = []
    compared = 0
    roles: tuple[Role, ...] = ("target",) if bundle.manifest.drafter is None else ("target", "drafter")
    for role in roles:
        graph = bundle.graph_folder(role)
        entries = bundle.engines(role)
        for folder in (graph, *(bundle.folder / entry.folder for entry in entries)):
            compared += 1
            try:
                check_belongs(bundle, role, GraphSpec.read(folder), folder)
            except RedraftError as error:
                problems.append(error.message)
        digest = graph_digest(graph)
        problems += [
            f"{entry.folder} was built from another graph than the bundle's {role}"
            for entry in entries
            if entry.graph_digest != digest
        ]
    try:
        compared += _check_vocabulary(bundle)
    except RedraftError as error:
        problems.append(error.message)
    sentence = "; ".join(problems[:3]) or f"the digests of {compared} artefacts agree"
    return Check(
        "map, prior, body and graphs belong together", not problems, sentence, {"compared": compared}
    )


def _check_vocabulary(bundle: Bundle) -> int:
    """The number of files looked at; the errors of `check_tokenizer` and `check_prior`."""
    tokenizer = TokenizerInfo.read(bundle.tokenizer_folder)
    if bundle.manifest.drafter is None:
        return 1
    vocab_map = VocabMap.load(bundle.vocab_map_file)
    vocab_map.check_tokenizer(tokenizer.digest)
    if bundle.manifest.prior is None:
        return 2
    prior = load_prior(bundle.prior_file)
    check_prior(prior, vocab_map, body_digest=bundle.manifest.drafter.body_digest)
    if prior.digest != bundle.manifest.prior.digest:
        raise RedraftError(f"{bundle.prior_file} is another prior than the manifest's")
    return 3
