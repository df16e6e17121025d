"""Precision as text and as a folder's name."""

from __future__ import annotations

from itertools import product

import pytest

from redraft._core.errors import UsageError
from redraft.export.precision import COMPUTE, FORMATS, Precision


@pytest.mark.parametrize("text", ["int3", "body=int5", "colour=int4", "compute=int8", "fp32,int4", ""])
def test_unknown_precision_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="precision"):
        Precision.parse(text)


def test_every_precision_has_a_label_of_its_own() -> None:
    every = [Precision(*parts) for parts in product(FORMATS, FORMATS, FORMATS, COMPUTE)]  # type: ignore[arg-type]
    labels = {precision.label for precision in every}
    assert len(labels) == len(every)
    assert not any(set(label) & set("/ ,=") for label in labels)


def test_one_word_means_all_parts() -> None:
    assert Precision.parse("int4") == Precision("int4", "int4", "int4", "fp32")
    assert Precision.parse("fp16") == Precision("fp16", "fp16", "fp16", "fp16")
    assert Precision.parse("body=int4, head=int8") == Precision("int4", "fp32", "int8", "fp32")
