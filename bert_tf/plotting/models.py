"""Plots of a model: attention of a sentence, word embeddings on a plane; and what TensorBoard's projector reads."""

import functools
import itertools
import math
import os

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.evaluation.drawing import shorten
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import LONGEST_NAME, Picture, panels

_SHOWN_TOKENS = 100
_SEPARATOR = "|||"
# More tokens than this can't be read in a picture.
_MOST_TOKENS = 48
# How far a label may be from its point, points of a font.
_RADII = (4, 9, 15, 22, 30, 40)
_EMBEDDINGS = "bert/embeddings/word_embeddings"


def embeddings(options: PlotOptions) -> list[Picture]:
  """Word embeddings of some tokens on the plane in which they differ most (principal components)."""
  loaded = _open(options)
  if loaded is None:
    return []
  vocabulary = loaded.tokenizer.vocabulary
  unknown = [token for token in options.tokens if token not in vocabulary]
  if unknown:
    raise UserError(f"--tokens: {unknown[0]!r} is not in {vocabulary.path}")
  tokens = options.tokens or [
      token for token in vocabulary.tokens if token.isalpha() and len(token) > 2][:_SHOWN_TOKENS]
  if len(tokens) < 3:
    return []
  vectors = loaded.source.read(_EMBEDDINGS)[[vocabulary.id_of(token) for token in tokens]]
  return [Picture("embeddings", functools.partial(
      _draw_embeddings, tokens=tokens, vectors=vectors, name=_name(options)), (9, 7.5))]


def plane(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Principal components: float [N, 2] coordinates, and the share of the variance in each of the two, of [N, H]."""
  centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
  left, scales, _ = np.linalg.svd(centred, full_matrices=False)
  # The signs of singular vectors are arbitrary: the token that is farthest out is on the positive side.
  farthest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)[:, :2]
  return left[:, :2] * scales[:2] * np.sign(farthest), scales[:2]**2 / max(np.sum(scales**2), 1e-300)


def _draw_embeddings(figure, tokens: list[str], vectors: np.ndarray, name: str) -> None:
  axes = figure.add_subplot()
  points, shares = plane(vectors)
  axes.plot(*points.T, ".", color="#D55E00", markersize=4)
  axes.set(xlabel=f"first principal component ({shares[0]:.0%} of the variance)",
           ylabel=f"second principal component ({shares[1]:.0%})")
  axes.set_title(f"{name}: word embeddings of {len(tokens)} tokens", fontsize="medium")
  axes.margins(0.06)
  axes.grid(alpha=0.3)
  line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
  texts = [axes.annotate(token, point, fontsize=8, xytext=(0, 0), textcoords="offset points", va="bottom",
                         in_layout=False, arrowprops=line)
           for token, point in zip(tokens, points, strict=True)]
  _spread(figure, axes, texts)


def _spread(figure, axes, texts: list) -> None:
  """Moves each label to the nearest place around its point that is free; one that finds none is left out."""
  from matplotlib.text import Text

  # Places of axes are known after drawing.
  figure.canvas.draw()
  renderer = figure.canvas.get_renderer()
  dots = axes.transData.transform([text.xy for text in texts])
  taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in dots]
  left, bottom, right, top = axes.get_window_extent(renderer).extents
  scale = figure.dpi / 72
  for text, (x, y) in zip(texts, dots, strict=True):
    # Of the letters alone, without the line to the point.
    width, height = Text.get_window_extent(text, renderer).size
    for radius, angle in itertools.product(_RADII, np.arange(16) * np.pi / 8):
      dx, dy = radius * np.cos(angle), radius * np.sin(angle)
      # The side of the text that faces the point is at that distance.
      box = (x + dx * scale - width * (1 - np.cos(angle)) / 2, y + dy * scale - height * (1 - np.sin(angle)) / 2)
      box = (*box, box[0] + width, box[1] + height)
      if left < box[0] and box[2] < right and bottom < box[1] and box[3] < top and not any(
          box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken):
        text.set_position(((box[0] - x) / scale, (box[1] - y) / scale))
        taken.append(box)
        break
    else:
      text.set_visible(False)


def attention(options: PlotOptions) -> list[Picture]:
  """Attention of every head of a layer in a sentence."""
  loaded = _open(options) if options.sentence else None
  if loaded is None:
    return []
  count = loaded.config.num_hidden_layers
  if not -count <= options.layer < count:
    raise UserError(f"--layer={options.layer}: the model has {count} layers, 0 to {count - 1}, or -{count} to -1 from "
                    "the end")
  tokens, probabilities = _attend(loaded, options.sentence, options.layer)
  layer = options.layer % count
  columns = math.ceil(math.sqrt(len(probabilities)))
  side = max(2.2, 0.15 * len(tokens) + 0.6)
  return [Picture("attention", functools.partial(_draw_attention, tokens=tokens, probabilities=probabilities,
                                                 layer=layer, columns=columns, name=_name(options)),
                  (side * columns + 1.8, side * -(-len(probabilities) // columns) + 0.9))]


def _attend(loaded, sentence: str, layer: int) -> tuple[list[str], np.ndarray]:
  """The tokens [S] and what they attend to, float [heads, S, S]."""
  from modeling.checkpoints.load import load_weights
  from modeling.encoder import BertEncoder

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
  return [vocabulary.token_of(token) for token in ids], np.asarray(outputs["attention_probabilities"][layer][0])


def _draw_attention(figure, tokens: list[str], probabilities: np.ndarray, layer: int, columns: int, name: str
                    ) -> None:
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


def write_projector(options: PlotOptions, directory: str) -> list[str]:
  """Writes word embeddings for TensorBoard's page Projector, with their tokens, into a directory for `--logdir`.

  Returns the files' paths; raises `UserError` where there is no checkpoint, or it can't be read.
  """
  from google.protobuf import text_format
  from tensorboard.plugins.projector import ProjectorConfig

  loaded = _open(options)
  if loaded is None:
    raise UserError(f"--what=projector: {options.sources[0]} holds no checkpoint")
  tokens = loaded.tokenizer.vocabulary.tokens[:options.projected]
  vectors = np.asarray(loaded.source.read(_EMBEDDINGS)[:len(tokens)], "<f4")
  paths = [os.path.join(directory, name) for name in (
      "word_embeddings.bytes", "word_embeddings.tsv", "projector_config.pbtxt")]
  files.make_output_directory(directory, "output_dir")
  with files.atomic_write(paths[0], "wb") as file:
    file.write(vectors.tobytes())
  with files.atomic_write(paths[1]) as file:
    file.write("token\tid\n")
    # A token that is white space would shift the columns.
    file.writelines(f"{' '.join(token.split()) or repr(token)}\t{number}\n" for number, token in enumerate(tokens))
  config = ProjectorConfig()
  config.embeddings.add(tensor_name="word_embeddings", tensor_path=os.path.basename(paths[0]),
                        tensor_shape=vectors.shape, metadata_path=os.path.basename(paths[1]))
  with files.atomic_write(paths[2]) as file:
    file.write(text_format.MessageToString(config))
  return paths


def _name(options: PlotOptions) -> str:
  return shorten(os.path.basename(os.path.normpath(_checkpoint(options) or "")), LONGEST_NAME)


def _open(options: PlotOptions):
  """The first of the sources that is a checkpoint, opened; None where there is none."""
  from modeling.checkpoints.load import open_checkpoint

  path = _checkpoint(options)
  return None if path is None else open_checkpoint(path)


def _checkpoint(options: PlotOptions) -> str | None:
  return next((path for path in options.sources if any(files.exists(one) for one in (
      os.path.join(path, "bert_config.json"), os.path.join(path, "config.json"), f"{path}.index"))), None)
