"""The model of tests of benchmarks."""

from modeling.config import BertConfig

CONFIG = BertConfig(
    vocab_size=60,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=16,
)
