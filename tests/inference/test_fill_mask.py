import pytest
import tensorflow as tf

from common.errors import UserError
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from inference.fill_mask import MaskFiller, filled
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from training import run_directory
from training.loop import TrainingState

WORDS = ["the", "array", "is", "returned", "list", "##s", "."]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
  """A run directory with a tiny network of random weights, and that network."""
  directory = tmp_path_factory.mktemp("run")
  tokens = [*SPECIAL_TOKENS, *WORDS]
  vocab = directory / "words.txt"
  vocab.write_text("\n".join(tokens) + "\n")
  config = BertConfig(vocab_size=len(tokens), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                      intermediate_size=16, max_position_embeddings=12, type_vocab_size=2)
  model = BertForPreTraining(config)
  model.build_weights()
  run_directory.write_description(str(directory), "test", {}, config, str(vocab), True)
  run_directory.checkpoint_of(model, TrainingState()).write(str(directory / "ckpt-7"))
  return directory, model


def test_candidates_are_those_of_the_network(run):
  directory, model = run
  filler = MaskFiller.from_checkpoint(str(directory / "ckpt-7"))
  (first, second) = filler.fill("The [MASK] is [MASK].", top_k=3)
  vocabulary = filler.tokenizer.vocabulary
  ids = [vocabulary.id_of(token) for token in ["[CLS]", "the", "[MASK]", "is", "[MASK]", ".", "[SEP]"]]
  logits = model({
      "input_ids": tf.constant([ids]), "input_mask": tf.ones([1, 7], tf.int32),
      "segment_ids": tf.zeros([1, 7], tf.int32), "masked_lm_positions": tf.constant([[2, 4]])})["masked_lm_logits"]
  expected = tf.math.top_k(tf.nn.softmax(logits[0]), 3)
  for candidates, indices, values in zip((first, second), expected.indices, expected.values, strict=True):
    assert [candidate.token for candidate in candidates] == [vocabulary.token_of(int(index)) for index in indices]
    assert [candidate.probability for candidate in candidates] == pytest.approx(values.numpy().tolist(), rel=1e-5)


def test_more_candidates_than_words_are_all_of_them(run):
  filler = MaskFiller.from_checkpoint(str(run[0] / "ckpt-7"))
  (candidates,) = filler.fill("[MASK]", top_k=100)
  assert len(candidates) == len(SPECIAL_TOKENS) + len(WORDS)
  assert sum(candidate.probability for candidate in candidates) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text, message", [
    ("the array", "there is no .MASK."), ("[MASK] " + "the " * 20, "longer than the network's position table")])
def test_texts_that_can_not_be_filled(run, text, message):
  with pytest.raises(UserError, match=message):
    MaskFiller.from_checkpoint(str(run[0] / "ckpt-7")).fill(text)


def test_a_checkpoint_without_the_head_is_refused(golden):
  """The classifier of the golden files has an encoder and a classification head only."""
  vocab = golden / "tf1_checkpoint" / "vocab.txt"
  with pytest.raises(UserError, match="bert_config.json|no whole masked-LM head"):
    MaskFiller.from_checkpoint(str(golden / "tf1_heads" / "classifier_model.ckpt"), vocab_file=str(vocab))


def test_a_vocabulary_of_another_size_is_refused(run, tmp_path):
  vocab = tmp_path / "vocab.txt"
  vocab.write_text("\n".join(SPECIAL_TOKENS) + "\n")
  with pytest.raises(UserError, match="has 5 entries, but vocab_size is 12"):
    MaskFiller.from_checkpoint(str(run[0] / "ckpt-7"), vocab_file=str(vocab))


def test_an_original_checkpoint_fills_masks(golden):
  filler = MaskFiller.from_checkpoint(str(golden / "tf1_checkpoint" / "bert_model.ckpt"))
  (candidates,) = filler.fill("a [MASK] b")
  assert len(candidates) == 5 and candidates[0].probability >= candidates[1].probability


@pytest.mark.parametrize("text, tokens, expected", [
    ("The [MASK] is here.", ["cat"], "The cat is here."), ("An array [MASK] [MASK]", ["##s", "."], "An arrays ."),
    ("[MASK]", ["##s"], "##s")])
def test_filled_text(text, tokens, expected):
  assert filled(text, tokens) == expected
