import numpy as np

from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from data_gen.tokenization.tokenizer import Tokenizer
from tests.tiny import TOKENS

TEXTS = ["who is the list?", "the array is returned.", "lists"]


def export_to(directory, checkpoint, export_format, task=None, **options):
    return export(
        ExportOptions(
            init_checkpoint=checkpoint,
            export_dir=str(directory),
            format=export_format,
            task=task,
            **options,
        )
    )


def ids_of(tokenizer: Tokenizer, texts=TEXTS) -> dict[str, np.ndarray]:
    """int64 [B, S] as a client has them."""
    rows = [
        [TOKENS.index("[CLS]"), *tokenizer.encode(text), TOKENS.index("[SEP]")] for text in texts
    ]
    shape = len(rows), max(map(len, rows))
    ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)], mask[number, : len(row)] = row, 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
