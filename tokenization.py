"""Module of google-research/bert; here it only names the tokenizer."""

from bert_common import WrongEnvironment

raise WrongEnvironment(
    "tokenization.FullTokenizer(vocab_file) is Tokenizer.from_file(vocab_file) here: "
    "from modeling import Tokenizer (docs/tokenization.md)"
)
