"""Make a small language model with random weights, and its tokenizer, in a folder; needs torch and transformers."""

from __future__ import annotations

import sys

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def make(folder: str) -> None:
    """Write a model whose tokens are bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    names = ["<s>", "</s>", "<pad>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    bytes_ = Tokenizer(models.BPE(vocab={name: at for at, name in enumerate(names)}, merges=[]))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_, bos_token="<s>", eos_token="</s>", pad_token="<pad>", chat_template=TEMPLATE
    )
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(names), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=0, eos_token_id=1, pad_token_id=2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    make(sys.argv[1])
