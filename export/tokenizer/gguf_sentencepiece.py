"""SentencePiece BPE with byte fallback (Llama 2, Mistral, Gemma) of a GGUF file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .gguf_vocabulary import NORMAL, UNKNOWN, UNUSED, GgufVocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def sentencepiece_bpe(vocabulary: GgufVocabulary) -> Tokenizer:
    """Spaces are ▁; what has no piece is written in bytes; a space comes first where the file says so."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    unknown = next((token for token, _ in vocabulary.tokens_of_kinds((UNKNOWN,))), None)
    tokenizer = Tokenizer(
        models.BPE(
            vocab=vocabulary.ids(),
            merges=merges_from_scores(vocabulary),
            unk_token=unknown,
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    steps: list[normalizers.Normalizer] = [normalizers.Replace(" ", "▁")]
    finish: list[decoders.Decoder] = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if vocabulary.add_space_prefix:
        steps.insert(0, normalizers.Prepend("▁"))
        finish.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = decoders.Sequence(finish)
    return tokenizer


def merges_from_scores(vocabulary: GgufVocabulary) -> list[tuple[str, str]]:
    """The merges that SentencePiece's rule amounts to: join the neighbours whose piece has the best score.

    Every split of a piece into two pieces is a merge; they are ranked by the piece's score, then by its id.
    """
    pieces = {
        token: index
        for index, (token, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types, strict=True))
        if kind in (NORMAL, UNUSED)
    }
    ranked = sorted(pieces, key=lambda piece: (-vocabulary.scores[pieces[piece]], pieces[piece]))
    return [
        (piece[:cut], piece[cut:])
        for piece in ranked
        for cut in range(1, len(piece))
        if piece[:cut] in pieces and piece[cut:] in pieces
    ]
