"""The published model sizes: Base and Large (section 3 of the paper), and the 24 miniatures (arXiv 1908.08962)."""

from modeling.config import BertConfig

UNCASED_VOCAB_SIZE = 30522
CASED_VOCAB_SIZE = 28996

_MINIATURE_LAYERS = (2, 4, 6, 8, 10, 12)
_MINIATURE_HIDDEN_SIZES = (128, 256, 512, 768)


def _size(layers: int, hidden_size: int, vocab_size: int = UNCASED_VOCAB_SIZE) -> BertConfig:
  """All published sizes have heads of 64 units and feed-forward layers of four times the hidden size."""
  return BertConfig(
      vocab_size=vocab_size, hidden_size=hidden_size, num_hidden_layers=layers,
      num_attention_heads=hidden_size // 64, intermediate_size=4 * hidden_size, type_vocab_size=2)


PRESETS: dict[str, BertConfig] = {
    f"bert-L{layers}-H{hidden_size}": _size(layers, hidden_size)
    for layers in _MINIATURE_LAYERS for hidden_size in _MINIATURE_HIDDEN_SIZES
}
PRESETS |= {
    "bert-base-uncased": _size(12, 768),
    "bert-base-cased": _size(12, 768, CASED_VOCAB_SIZE),
    "bert-large-uncased": _size(24, 1024),
    "bert-large-cased": _size(24, 1024, CASED_VOCAB_SIZE),
    "tiny": PRESETS["bert-L2-H128"],
    "mini": PRESETS["bert-L4-H256"],
    "small": PRESETS["bert-L4-H512"],
    "medium": PRESETS["bert-L8-H512"],
    "base": _size(12, 768),
    "large": _size(24, 1024),
}
