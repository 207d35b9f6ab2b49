"""What is reported of two tokenizers that differ."""

from bert_tf.inference.agreement import Difference, compare
from modeling.preprocessing.graph_tokenizer import GraphTokenizer
from tests.data_gen.tokenization.common import TOKENIZERS, VOCABULARY


def test_lines_that_differ_are_named():
  texts = ["the", "The un", "able"] * 400
  found = compare("some.txt", texts, TOKENIZERS[True], GraphTokenizer(VOCABULARY, False))
  assert found.differences == [
      Difference(number, "The un", ["the", "un"], ["[UNK]", "un"]) for number in range(2, 1200, 3)]
  assert found.to_dict()["agreeing"] == 800
  text = found.describe(shown=2).splitlines()
  assert text[0] == "some.txt: the tokenizer in the graph gives the exact tokens for 800 of 1,200 lines (66.67 %)"
  assert text[1:4] == ["  line 2: 'The un'", "    exact: the un", "    graph: [UNK] un"] and len(text) == 7


def test_two_marks_that_normalisation_swaps_are_the_known_difference():
  texts = ["a\U0001d165\u302e", "a\u302e\U0001d165"]
  vocabulary = type(VOCABULARY)([*VOCABULARY.tokens, "##\U0001d165", "##\u302e"])
  tokenizer = type(TOKENIZERS[True])(vocabulary, True)
  found = compare("marks", texts, tokenizer, GraphTokenizer(vocabulary, True))
  assert [sorted(difference.exact) == sorted(difference.graph) for difference in found.differences] == [True]
