"""TextTokenizer: folders, BOS, chats."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.text_tokenizers import byte_level_tokenizer, info_of
from tests.support.tiny_tokenizer import CHAT_TEMPLATE, SIZE, write_tiny_tokenizer

from redraft._core.errors import InputFileError, RequestError
from redraft.runtime.text import TextTokenizer


def write_folder(folder: Path, **options: object) -> Path:
    write_tiny_tokenizer(folder)
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    info_of(SIZE, **options).write(folder)
    return folder


def test_a_folder_is_read_with_template_and_special_tokens(tmp_path: Path) -> None:
    tokenizer = TextTokenizer.read(write_folder(tmp_path))
    assert tokenizer.render_chat([{"role": "user", "content": "Hi"}]) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    ids = tokenizer.encode_chat([{"role": "user", "content": "Hi"}])
    assert ids[0] == 1
    assert tokenizer.decode(ids, skip_special_tokens=False).startswith("<|im_start|>user\nHi<|im_end|>")


@pytest.mark.parametrize(("add_bos", "first"), [(True, 0), (False, None)])
def test_bos_is_added_once_and_only_where_the_model_wants_it(
    tmp_path: Path, add_bos: bool, first: int | None
) -> None:
    tokenizer = byte_level_tokenizer(tmp_path, add_bos=add_bos)
    ids = tokenizer.encode("the in")
    assert (ids[0] == 0) == (first == 0)
    assert ids.count(0) == (1 if add_bos else 0)
    assert tokenizer.decode(ids) == "the in"


def test_a_chat_does_not_get_a_second_bos(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer(tmp_path, add_bos=True)
    tokenizer.chat_template = "{{ bos_token }}" + CHAT_TEMPLATE
    assert tokenizer.encode_chat([{"role": "user", "content": "Hi"}]).count(0) == 1


@pytest.mark.parametrize("name", ["tokenizer.json", "tokens.json"])
def test_a_missing_or_damaged_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path)
    (folder / name).write_text("{")
    with pytest.raises(InputFileError, match=name):
        TextTokenizer.read(folder)
    (folder / name).unlink()
    with pytest.raises(InputFileError, match=name):
        TextTokenizer.read(folder)


def test_a_prompt_that_is_no_unicode_text_is_refused(tmp_path: Path) -> None:
    tokenizer = TextTokenizer.read(write_folder(tmp_path))
    with pytest.raises(RequestError, match="lone surrogate"):
        tokenizer.encode("a\udcff")
    with pytest.raises(RequestError, match="lone surrogate"):
        tokenizer.encode_chat([{"role": "user", "content": "a\udcff"}])
