"""Attention of every head of a layer in a sentence, drawn of any checkpoint."""

import functools
import math

import numpy as np

from bert_common.errors import UserError
from bert_tf.plotting.picture import Picture, panels
from modeling.checkpoints.load import load_weights, open_checkpoint
from modeling.encoder import BertEncoder

_SEPARATOR = "|||"
# More tokens than this can't be read in a picture.
_MOST_TOKENS = 48


def attention(checkpoint: str, name: str, sentence: str, layer: int) -> Picture:
  """The picture of a layer.

  Args:
    name: of the checkpoint, in the title.
    sentence: or two, with "|||" between them.
    layer: its number from 0; -1 is the last one.

  Raises:
    UserError: the checkpoint can't be read, there is no such layer, or the sentence is too long.
  """
  loaded = open_checkpoint(checkpoint)
  count = loaded.config.num_hidden_layers
  if not -count <= layer < count:
    raise UserError(f"--layer={layer}: the model has {count} layers, 0 to {count - 1}, or -{count} to -1 from the end")
  vocabulary = loaded.tokenizer.vocabulary
  ids, segments = [vocabulary.cls_id], [0]
  for number, part in enumerate(sentence.split(_SEPARATOR, 1)):
    encoded = [*loaded.tokenizer.encode(part, special_tokens=True).tolist(), vocabulary.sep_id]
    ids += encoded
    segments += [number] * len(encoded)
  most = min(_MOST_TOKENS, loaded.config.max_position_embeddings)
  if len(ids) > most:
    raise UserError(f"--sentence has {len(ids)} tokens, at most {most} can be drawn")
  encoder = BertEncoder(loaded.config)
  encoder.build_weights()
  load_weights(encoder, loaded.source)
  outputs = encoder(np.array([ids], np.int32), segment_ids=np.array([segments], np.int32),
                    return_attention_probabilities=True)
  probabilities = np.asarray(outputs["attention_probabilities"][layer][0])  # [heads, S, S]
  columns = math.ceil(math.sqrt(len(probabilities)))
  side = max(2.2, 0.15 * len(ids) + 0.6)
  draw = functools.partial(_draw, tokens=[vocabulary.token_of(token) for token in ids], probabilities=probabilities,
                           layer=layer % count, columns=columns, name=name)
  return Picture("attention", draw, (side * columns + 1.8, side * -(-len(probabilities) // columns) + 0.9))


def _draw(figure, tokens: list[str], probabilities: np.ndarray, layer: int, columns: int, name: str) -> None:
  """One scale for all heads, that of the square root: most probabilities are small."""
  from matplotlib.colors import PowerNorm

  found = panels(figure, len(probabilities), columns)
  norm = PowerNorm(0.5, vmin=0, vmax=float(probabilities.max()))
  for number, (axes, matrix) in enumerate(zip(found, probabilities, strict=True)):
    image = axes.imshow(matrix, cmap="magma_r", norm=norm)
    axes.set_title(f"layer {layer}, head {number}", fontsize="small")
    axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7)
    axes.set_yticks(range(len(tokens)), tokens, fontsize=7)
    # The others are beside or above one with the same tokens.
    axes.tick_params(labelleft=number % columns == 0, labelbottom=number + columns >= len(probabilities))
  figure.suptitle(f"{name}: attention in layer {layer}", fontsize="medium")
  figure.supylabel("token that attends", fontsize="small")
  figure.supxlabel("token that is attended to", fontsize="small")
  bar = figure.colorbar(image, ax=list(found), shrink=0.8)
  bar.set_label("attention probability (scale of the square root)", fontsize="small")
