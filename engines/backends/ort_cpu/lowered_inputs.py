"""Names of the graph inputs that lowering adds or takes away."""

SEQLENS_K = "seqlens_k"
"""[B] int32: used slots of each row after the call, less one (GroupQueryAttention)."""
TOTAL_SEQUENCE_LENGTH = "total_sequence_length"
"""[] int32: the largest number of used slots after the call."""
QUERY_SEQLENS = "query_seqlens"
"""[B] int32: new tokens of each row; always S, since padded rows write too."""
BIAS_INPUTS = ("attention_bias", "attention_bias_local")
"""Canonical masks: needed only where a layer could not be lowered."""
