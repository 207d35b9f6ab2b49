"""Added tokens in texts: found where Hugging Face's tokenizers find them."""

import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from data_gen.tokenization.added_tokens import AddedTokens
from data_gen.tokenization.settings import AddedToken

# Letters, a vowel sign of Hindi, a combining accent, a raised digit, a fraction, a joiner, a letter
# in a circle, an ideograph, a connector, brackets and a space.
CHARACTERS = "abकि\u0301²½\u200dⒶ東_[@ "
CONTENTS = st.text(CHARACTERS, min_size=1, max_size=3).filter(str.strip)


def added(content: str, single_word: bool) -> AddedToken:
    return AddedToken(content, -1, single_word=single_word)


@given(
    st.lists(st.builds(added, CONTENTS, st.booleans()), min_size=1, unique_by=lambda t: t.content),
    st.data(),
)
def test_tokens_are_found_where_tokenizers_find_them(tokens, data):
    theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    for token in tokens:
        flags = {"single_word": token.single_word, "normalized": False}
        theirs.add_tokens([tokenizers.AddedToken(token.content, **flags)])
    ours = []
    for token in tokens:
        ours.append(token._replace(id=theirs.token_to_id(token.content)))
    pieces = st.sampled_from([*CHARACTERS, *(token.content for token in tokens)])
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    found = []
    for part in AddedTokens(ours, do_lower_case=False, strip_accents=False).split(text):
        if part.id is not None:
            found.append((part.id, (part.start, part.end)))
    encoding = theirs.encode(text)
    pairs = zip(encoding.ids, encoding.offsets, strict=True)
    assert found == [pair for pair in pairs if pair[0]]
