"""Training of one BiLSTM on fixed activations, with its best epoch, its scores and all it takes to resume.

Input: activations of words (`activations.py`), the right labels and a choice of layers. Output: in a directory of its
own `state.npz`, written behind every epoch, the predictions of the best epoch, and a dict of its scores.
"""

import os
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from bert_tf.common import files
from bert_tf.evaluation import conlleval
from bert_tf.tasks.token_classification import results
from bert_tf.tasks.token_classification.activations import score_sentences, sentence_batch
from bert_tf.tasks.token_classification.data import Split, TokenData
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.tasks.token_classification.results import score, tag_split
from bert_tf.training.examples import epoch_batches
from modeling.feature_tagger import FeatureTagger

_LEARNING_RATE, _EPOCHS = 1e-3, 15.0
_CLIP_NORM = 5.0
_STATE_FILE = "state.npz"


class TaggerTraining:
  """One BiLSTM: epochs, the best of them by the development set, its scores.

  The batches of an epoch are a function of the seed and the epoch, and all that changes is kept after every epoch: a
  run that was stopped gives what it would have given.
  """

  def __init__(self, options: TokenClassificationOptions, data: TokenData, combine: str, columns: list[int],
               activations: dict[str, np.ndarray], splits: dict[str, Split], seed: int, directory: str, metric: str):
    """Makes the model and its optimizer.

    Args:
      options: of the run.
      data: the labels.
      combine: how layers become one vector.
      columns: the chosen ones among the layers of `activations`.
      activations: split → [W, layers, H].
      splits: "train", "dev" and, where there is one, "test".
      seed: of weights, dropout and the order of the sentences.
      directory: for all that is kept.
      metric: that tells the best epoch.
    """
    self._options, self._data, self._splits, self._seed = options, data, splits, seed
    self._activations, self._columns, self._directory, self._metric = activations, columns, directory, metric
    self._epochs = int(np.ceil(options.num_train_epochs if "num_train_epochs" in options.given else _EPOCHS))
    rate = options.learning_rate if "learning_rate" in options.given else _LEARNING_RATE
    keras.utils.set_random_seed(seed)
    self._model = FeatureTagger(len(data.labels), len(columns), combine, units=options.lstm_units,
                                depth=options.lstm_layers, dropout=options.classifier_dropout, seed=seed)
    hidden = activations["train"].shape[-1]
    self._model.build_weights(hidden)
    self._optimizer = keras.optimizers.Adam(rate, global_clipnorm=_CLIP_NORM)
    self._optimizer.build(self._model.trainable_variables)
    vectors = tf.TensorSpec([None, None, len(columns), hidden], tf.float32)
    mask, labels = tf.TensorSpec([None, None], tf.bool), tf.TensorSpec([None, None], tf.int32)
    self._step = tf.function(self._train_step, input_signature=[vectors, mask, labels], autograph=False)
    self._probabilities = tf.function(lambda vectors, mask: tf.nn.softmax(self._model(vectors, mask)),
                                      input_signature=[vectors, mask], autograph=False)

  def run(self, log: Callable[[str], None], check_stop: Callable[[], None]) -> dict:
    """Trains to the end; returns the result of the best epoch."""
    epoch, best, seconds = self._restore(log)
    rows = self._splits["train"].sentences.row_lengths
    while epoch < self._epochs:
      started, losses = time.monotonic(), []
      for chosen in epoch_batches(rows, self._options.train_batch_size, self._seed, epoch):
        check_stop()
        losses.append(float(self._step(*self._batch(chosen))))
      seconds.append(time.monotonic() - started)
      epoch += 1
      metrics = score(tag_split(self._data, self._splits["dev"], self._predict("dev", check_stop)))
      log(f"epoch {epoch} of {self._epochs}: loss {np.mean(losses):.4f}, {self._metric} {metrics[self._metric]:.4f}, "
          f"{seconds[-1]:.1f} s")
      if best is None or metrics[self._metric] > best[0]:
        best = metrics[self._metric], [np.array(weight) for weight in self._model.get_weights()], epoch
      self._save(epoch, best, seconds)
    self._model.set_weights(best[1])
    return self._finish(best[2], seconds, log, check_stop)

  def best_tagger(self) -> FeatureTagger:
    """The model with the weights of its best epoch, which must have been trained."""
    _, best, _ = self._restore(lambda line: None)
    self._model.set_weights(best[1])
    return self._model

  def _finish(self, epoch: int, seconds: list[float], log: Callable[[str], None], check_stop: Callable[[], None]
              ) -> dict:
    result = {"seed": self._seed, "epoch": epoch, "epoch_seconds": float(np.mean(seconds)),
              "seconds": float(np.sum(seconds))}
    for name in ("dev", "test"):
      if name in self._splits:
        tagged = tag_split(self._data, self._splits[name], self._predict(name, check_stop))
        results.write_predictions(os.path.join(self._directory, f"{name}_predictions.txt"), tagged)
        if tagged.is_scorable:
          result[name] = score(tagged)
          if tagged.counts is not None:
            log(f"{name}\n{conlleval.report(tagged.counts)}")
    return result

  def _train_step(self, vectors, mask, labels):
    with tf.GradientTape() as tape:
      logits = self._model(vectors, mask, training=True)
      known = tf.cast(labels >= 0, tf.float32)
      losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(labels, 0), logits)
      loss = tf.reduce_sum(losses * known) / tf.maximum(tf.reduce_sum(known), 1.0)
    self._optimizer.apply_gradients(zip(tape.gradient(loss, self._model.trainable_variables),
                                        self._model.trainable_variables, strict=True))
    return loss

  def _batch(self, chosen: np.ndarray) -> tuple:
    """(vectors, mask, labels) of sentences to train on."""
    split = self._splits["train"]
    vectors, mask, words = sentence_batch(
        self._activations["train"], split.sentences.row_lengths, chosen, self._columns)
    labels = np.full(mask.shape, -1, np.int32)
    labels[mask] = split.labels[words]
    return vectors, mask, labels

  def _predict(self, name: str, check_stop: Callable[[], None]) -> np.ndarray:
    """float32 [W, C]."""
    return score_sentences(self._probabilities, self._activations[name], self._splits[name].sentences.row_lengths,
                           len(self._data.labels), self._options.predict_batch_size, self._columns, check_stop)

  def _variables(self) -> list:
    return [*self._model.variables, *self._optimizer.variables]

  def _save(self, epoch: int, best: tuple, seconds: list[float]) -> None:
    arrays = {f"variable_{number}": np.asarray(one.value) for number, one in enumerate(self._variables())}
    arrays |= {f"best_{number}": value for number, value in enumerate(best[1])}
    with files.atomic_write(os.path.join(self._directory, _STATE_FILE), "wb") as file:
      np.savez(file, epoch=epoch, best_score=best[0], best_epoch=best[2], seconds=seconds, **arrays)

  def _restore(self, log: Callable[[str], None]) -> tuple[int, tuple | None, list[float]]:
    """(epochs done, the best of them, their seconds)."""
    path = os.path.join(self._directory, _STATE_FILE)
    if not files.exists(path):
      return 0, None, []
    with files.open_file(path, "rb") as file, np.load(file) as state:
      for number, one in enumerate(self._variables()):
        one.assign(state[f"variable_{number}"])
      count = len(self._model.get_weights())
      best = float(state["best_score"]), [state[f"best_{number}"] for number in range(count)], int(state["best_epoch"])
      log(f"resuming behind epoch {int(state['epoch'])}")
      return int(state["epoch"]), best, state["seconds"].tolist()
