"""The features of SQuAD questions as they are usually made in Python: question by question, token
by token.

The baseline of the tests of `data_gen/labeled/squad_features.py`: the
steps of the BERT paper's code, a context tokenized again for each of its questions, nothing shared
with `data_gen/` but the data.
Verified against the output of the original code (tests/data_gen/labeled/test_squad_features.py).
"""

from collections.abc import Iterator

from data_gen.labeled.squad import Question, SquadData
from tests.oracles.tokenizer import ReferenceTokenizer


def reference_features(
    data: SquadData,
    tokenizer: ReferenceTokenizer,
    *,
    max_seq_length: int,
    doc_stride: int,
    max_query_length: int,
    training: bool,
) -> Iterator[dict]:
    """The windows of all questions, in order.

    Yields:
      question: number of the question, int.
      tokens, segment_ids: list of str and int.
      token_to_word: position in the window → number of the word of the context.
      is_max_context: position in the window → bool.
      start_position, end_position: int; None unless for training.
    """
    for number, question in enumerate(data.questions):
        context = data.contexts[question.context]
        words, word_of_character = split_words(context)
        query = tokenizer.tokenize(question.text)[:max_query_length]
        first_token_of_word, token_to_word, tokens = [], [], []
        for index, word in enumerate(words):
            first_token_of_word.append(len(tokens))
            for piece in tokenizer.tokenize(word):
                token_to_word.append(index)
                tokens.append(piece)
        start = end = None
        if training and question.answers and not question.is_impossible and words:
            start, end = _answer_tokens(
                question, word_of_character, first_token_of_word, tokens, tokenizer
            )
        spans = _slide(len(tokens), max_seq_length - len(query) - 3, doc_stride)
        for span_number, (span_start, length) in enumerate(spans):
            window, segment_ids, words_of_window, is_max_context = ["[CLS]"], [0], {}, {}
            for piece in query:
                window.append(piece)
                segment_ids.append(0)
            window.append("[SEP]")
            segment_ids.append(0)
            for position in range(span_start, span_start + length):
                words_of_window[len(window)] = token_to_word[position]
                is_max_context[len(window)] = _best_span(spans, position) == span_number
                window.append(tokens[position])
                segment_ids.append(1)
            window.append("[SEP]")
            segment_ids.append(1)
            start_position = end_position = None
            if training:
                start_position = end_position = 0
                if start is not None and start >= span_start and end <= span_start + length - 1:
                    start_position = start - span_start + len(query) + 2
                    end_position = end - span_start + len(query) + 2
            yield {
                "question": number,
                "tokens": window,
                "segment_ids": segment_ids,
                "token_to_word": words_of_window,
                "is_max_context": is_max_context,
                "start_position": start_position,
                "end_position": end_position,
            }


def split_words(context: str) -> tuple[list[str], list[int]]:
    """(words, number of the word that each character is in or behind; -1 before the first)."""
    words, word_of_character = [], []
    begins_word = True
    for character in context:
        if character in " \t\r\n\u202f":
            begins_word = True
        elif begins_word:
            words.append(character)
            begins_word = False
        else:
            words[-1] += character
        word_of_character.append(len(words) - 1)
    return words, word_of_character


def _answer_tokens(
    question: Question,
    word_of_character: list[int],
    first_token_of_word: list[int],
    tokens: list[str],
    tokenizer: ReferenceTokenizer,
) -> tuple[int, int]:
    answer = question.answers[0]
    # White space at the beginning of the context belongs to no word; the original leaves most such
    # questions out.
    start_word = max(word_of_character[answer.start], 0)
    end_word = word_of_character[answer.start + len(answer.text) - 1]
    start = first_token_of_word[start_word]
    end = (
        first_token_of_word[end_word + 1]
        if end_word + 1 < len(first_token_of_word)
        else len(tokens)
    ) - 1
    wanted = " ".join(tokenizer.tokenize(answer.text))
    for new_start in range(start, end + 1):
        for new_end in range(end, new_start - 1, -1):
            if " ".join(tokens[new_start : new_end + 1]) == wanted:
                return new_start, new_end
    return start, end


def _slide(num_tokens: int, room: int, stride: int) -> list[tuple[int, int]]:
    """[(start, length)] of the windows over a context."""
    spans = []
    start = 0
    while start < num_tokens:
        length = min(num_tokens - start, room)
        spans.append((start, length))
        if start + length == num_tokens:
            break
        start += min(length, stride)
    return spans


def _best_span(spans: list[tuple[int, int]], position: int) -> int | None:
    best, best_score = None, None
    for number, (start, length) in enumerate(spans):
        end = start + length - 1
        if start <= position <= end:
            score = min(position - start, end - position) + 0.01 * length
            if best_score is None or score > best_score:
                best, best_score = number, score
    return best
