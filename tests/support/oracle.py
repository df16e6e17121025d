"""transformers as the oracle: logits of a whole sequence, without a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


def oracle_logits(model: Any, ids: NDArray[Any]) -> NDArray[np.float32]:
    """[B, S, T] float32 logits of a transformers model for ids [B, S]."""
    import torch

    with torch.no_grad():
        return model(torch.tensor(ids), use_cache=False).logits.float().numpy()


def honour_attention_soft_cap(monkeypatch: pytest.MonkeyPatch, cap: float) -> None:
    """Make Gemma 3's eager attention apply its soft cap: transformers reads it and leaves it unused."""
    from transformers.models.gemma3 import modeling_gemma3

    capped = partial(modeling_gemma3.eager_attention_forward, softcap=cap)
    monkeypatch.setattr(modeling_gemma3, "eager_attention_forward", capped)
