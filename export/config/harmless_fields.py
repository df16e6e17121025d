"""Fields of a Hugging Face config that do not change a decoder's logits."""

from __future__ import annotations

HARMLESS = frozenset(
    {
        # identity and bookkeeping
        *(
            "model_type",
            "architectures",
            "_name_or_path",
            "_commit_hash",
            "transformers_version",
            "tokenizer_class",
        ),
        *(
            "torch_dtype",
            "dtype",
            "use_bfloat16",
            "transformers.js_config",
            "is_llama_config",
            "pretraining_tp",
        ),
        *(
            "unsloth_fixed",
            "unsloth_version",
            "problem_type",
            "id2label",
            "label2id",
            "num_labels",
            "finetuning_task",
        ),
        *("task_specific_params", "prefix", "keys_to_ignore_at_inference", "_from_model_config", "license"),
        # training
        *("initializer_range", "attention_dropout", "hidden_dropout", "embd_pdrop", "resid_pdrop"),
        *("attn_pdrop", "gradient_checkpointing", "chunk_size_feed_forward"),
        # how the original code runs, not what it computes
        *("use_cache", "cache_implementation", "attn_implementation", "_attn_implementation"),
        *("_attn_implementation_autoset", "_attn_implementation_internal", "torchscript", "tf_legacy_loss"),
        *("output_attentions", "output_hidden_states", "return_dict", "is_decoder", "tie_encoder_decoder"),
        *("cross_attention_hidden_size",),
        # special tokens: read by the tokenizer's part
        *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
        # generation settings of old configs
        *(
            "max_length",
            "min_length",
            "do_sample",
            "early_stopping",
            "num_beams",
            "num_beam_groups",
            "top_k",
            "top_p",
        ),
        *(
            "diversity_penalty",
            "temperature",
            "typical_p",
            "repetition_penalty",
            "length_penalty",
            "output_scores",
        ),
        *("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences"),
        *("return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values"),
        *("exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens"),
    }
)

FIXED: dict[str, tuple[object, ...]] = {
    "is_encoder_decoder": (False,),
    "add_cross_attention": (False,),
    "pruned_heads": ({},),
    "rope_interleaved": (False,),
    "partial_rotary_factor": (1, 1.0),
    "use_mrope": (False,),
    "use_bidirectional_attention": (False,),
}
"""Fields that may be present with these values only; any other value would change the computation."""
