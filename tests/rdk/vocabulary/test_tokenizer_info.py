"""TokenizerInfo on disk, and the digest of a tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redraft._core.errors import InputFileError
from redraft.rdk.vocabulary.tokenizer_info import ADDED, BYTE, TEXT, TokenizerInfo, token_digest

INFO = TokenizerInfo(300, "ab" * 32, None, False, (2, 7), (0, 1, 2), tuple(range(3, 259)), 0, True)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    INFO.write(tmp_path)
    assert TokenizerInfo.read(tmp_path) == INFO
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (None, "does not exist"),
        ("{", "cannot be read as JSON"),
        ("[]", "expected the fields"),
        ('{"size": 3}', "expected the fields"),
    ],
)
def test_missing_and_damaged_files_are_one_sentence(content: str | None, phrase: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "tokens.json").write_text(content)
    with pytest.raises(InputFileError) as caught:
        TokenizerInfo.read(tmp_path)
    assert phrase in caught.value.message


def test_unknown_fields_are_not_dropped(tmp_path: Path) -> None:
    INFO.write(tmp_path)
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "more": 1}))
    with pytest.raises(InputFileError):
        TokenizerInfo.read(tmp_path)


def test_the_digest_ignores_order_and_sees_everything_else() -> None:
    tokens = [(0, b"a", TEXT), (1, b"b", TEXT), (2, b"<s>", ADDED)]
    digest = token_digest(tokens)
    assert token_digest(reversed(tokens)) == digest
    others = [
        [(0, b"b", TEXT), (1, b"a", TEXT), (2, b"<s>", ADDED)],
        [(0, b"a", TEXT), (1, b"b", TEXT), (2, b"<s>", TEXT)],
        [(0, b"a", TEXT), (1, b"b", BYTE), (2, b"<s>", ADDED)],
        [(0, b"ab", TEXT), (1, b"", TEXT), (2, b"<s>", ADDED)],
        [(0, b"a", TEXT), (3, b"b", TEXT), (2, b"<s>", ADDED)],
        tokens[:2],
    ]
    assert len({token_digest(other) for other in others} | {digest}) == len(others) + 1
