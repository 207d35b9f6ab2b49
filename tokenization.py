"""Module of google-research/bert; importing it leads on to this project's tokenizer."""

from bert_common import WrongEnvironment

raise WrongEnvironment(
    "tokenization.FullTokenizer(vocab_file) is Tokenizer.from_file(vocab_file) here: "
    "from modeling import Tokenizer (docs/tokenization.md)"
)
