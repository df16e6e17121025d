"""What a checkpoint is: family, sizes, source, licence."""

from __future__ import annotations

from .identify import Description


def describe_checkpoint(uri: str) -> Description:
    """The checkpoint's description, read from its headers alone."""
    from redraft.export.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(uri)
    config, source = checkpoint.config, checkpoint.source
    windows = sorted({layer.window for layer in config.layers if layer.window is not None})
    facts = {
        "uri": source.uri,
        "revision": source.revision,
        "format": source.format,
        "quantized_bits": source.quantized_bits,
        "license": source.license,
        "family": config.family,
        "layers": config.num_layers,
        "hidden_size": config.hidden_size,
        "heads": config.num_heads,
        "kv_heads": config.num_kv_heads,
        "head_size": config.head_size,
        "vocabulary_rows": config.head_rows,
        "max_positions": config.max_positions,
        "tied_head": config.tied_head,
        "sliding_windows": windows,
    }
    return Description("checkpoint", facts)
