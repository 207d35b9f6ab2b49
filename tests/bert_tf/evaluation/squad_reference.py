"""A plain reading of the original's way from logits to answers, window after window and pair after
pair.

With the text that the original makes (`original_text`) it gives the original's files, with
`slice_text` it must give those of `bert_tf/evaluation/squad_answers.py`.
"""

import bisect
import functools
import math
import re

from data_gen.tokenization.wordpiece import basic_tokenize, find_chunks

# What the original's reader takes for white space.
WORD = re.compile("[^ \t\r\n\u202f]+")
WHITE_SPACE = re.compile("[ \t\r\n\u202f]+")


def nbest_of_questions(
    data, tokenizer, contexts, windows, start_logits, end_logits, text_of, options
):
    """id → ([text, probability, start logit, end logit, (first token, last token)] of the n best,
    null odds).

    Tokens are counted in all contexts together, and None for "no answer".

    Args:
      data, contexts, windows: as `find_answers` takes them.
      tokenizer: that made the windows.
      start_logits, end_logits: lists of W lists of floats.
      text_of: `original_text` or `slice_text`.
      options: `AnswerOptions`.
    """
    max_context = windows.max_context().tolist()
    candidates = [[] for _ in data.questions]
    nulls = [[] for _ in data.questions]
    passed = 0
    for window, question in enumerate(windows.question_index.tolist()):
        first = int(windows.doc_token_start[window])
        count = int(windows.num_context_tokens[window])
        starts, ends = start_logits[window], end_logits[window]
        nulls[question].append((starts[0], ends[0]))
        token = (
            int(
                contexts.row_starts[data.questions[question].context]
                + windows.first_context_token[window]
            )
            - first
        )
        end_indexes = best_indexes(ends, options.n_best_size)
        for start in best_indexes(starts, options.n_best_size):
            if not first <= start < first + count or not max_context[passed + start - first]:
                continue
            for end in end_indexes:
                if start <= end < min(first + count, start + options.max_answer_length):
                    candidates[question].append(
                        (token + start, token + end, starts[start], ends[end])
                    )
        passed += count
    return {
        question.id: nbest_of_question(
            data.contexts[question.context],
            tokenizer,
            contexts,
            candidates[number],
            nulls[number],
            text_of,
            options,
        )
        for number, question in enumerate(data.questions)
    }


def nbest_of_question(context, tokenizer, contexts, candidates, nulls, text_of, options):
    """One value of `nbest_of_questions`; `nulls` are the logits of [CLS] in each window."""
    null = None
    if options.version_2_with_negative:
        null = (None, None, *min(nulls, key=sum, default=(0.0, 0.0)))
        candidates = [*candidates, null]
    nbest, seen = [], set()
    for first, last, start_logit, end_logit in sorted(
        candidates, key=lambda one: one[2] + one[3], reverse=True
    ):
        if len(nbest) == options.n_best_size:
            break
        text = "" if first is None else text_of(context, tokenizer, contexts, first, last)
        if text not in seen:
            seen.add(text)
            nbest.append(
                [text, None, start_logit, end_logit, None if first is None else (first, last)]
            )
    if null and "" not in seen:
        nbest.append(["", None, *null[2:], None])
    if not nbest:
        nbest.append(["empty", None, 0.0, 0.0, None])
    highest = max(one[2] + one[3] for one in nbest)
    weights = [math.exp(one[2] + one[3] - highest) for one in nbest]
    for one, weight in zip(nbest, weights, strict=True):
        one[1] = weight / sum(weights)
    if null is None:
        return nbest, None
    best = next((one for one in nbest if one[0]), ["", None, 0.0, 0.0])
    return nbest, null[2] + null[3] - best[2] - best[3]


def best_indexes(logits, count):
    return sorted(range(len(logits)), key=logits.__getitem__, reverse=True)[:count]


def slice_text(context, tokenizer, contexts, first, last):
    """What stands between the first and the last character of the tokens `first` and `last`."""
    (start, end), (other_start, other_end) = contexts.offsets[[first, last]].tolist()
    return context[min(start, other_start) : max(end, other_end)]


def original_text(context, tokenizer, contexts, first, last):
    """The words that the tokens are in, cut by looking for the tokens in them."""
    return final_text(
        predicted_text(tokenizer, contexts, first, last),
        words_of(context, contexts, first, last),
        tokenizer.do_lower_case,
    )


def predicted_text(tokenizer, contexts, first, last):
    tokens = [tokenizer.vocabulary.tokens[id] for id in contexts.ids[first : last + 1].tolist()]
    return " ".join(" ".join(tokens).replace(" ##", "").replace("##", "").split())


def words_of(context, contexts, first, last):
    """The words that the tokens are in, joined by blanks."""
    words, starts = split_words(context)
    in_words = [
        bisect.bisect_right(starts, int(contexts.offsets[token, 0])) - 1 for token in (first, last)
    ]
    return " ".join(words[in_words[0] : in_words[1] + 1])


@functools.cache
def split_words(context):
    """(words, where they start)"""
    found = list(WORD.finditer(context))
    return [word.group() for word in found], [word.start() for word in found]


def final_text(pred_text, orig_text, do_lower_case):
    """`get_final_text`: the part of `orig_text` whose tokens read `pred_text`; all of it where that
    is unknown."""
    return next(occurrences(pred_text, orig_text, do_lower_case), orig_text)


def occurrences(pred_text, orig_text, do_lower_case):
    """The parts of `orig_text` whose tokens read `pred_text`, from left to right. The original
    takes the first."""
    tokenized = " ".join(tokenize(orig_text, do_lower_case))
    tokenized_places = [place for place, character in enumerate(tokenized) if character != " "]
    places = [place for place, character in enumerate(orig_text) if character != " "]
    if len(tokenized_places) != len(places):
        return
    place_of = dict(zip(tokenized_places, places, strict=True))
    start = tokenized.find(pred_text)
    while start >= 0:
        end = start + len(pred_text) - 1
        yield (
            orig_text[place_of[start] : place_of[end] + 1]
            if start in place_of and end in place_of
            else orig_text
        )
        start = tokenized.find(pred_text, start + 1)


def tokenize(text, do_lower_case):
    return [word for chunk in find_chunks(text) for word in basic_tokenize(chunk, do_lower_case)]


def kind_of_difference(context, tokenizer, contexts, first, last):
    """Why the original's text of these tokens is not a slice from the first to the last; None where
    it is.

    What is none of the known kinds is "unexplained".
    """
    original = original_text(context, tokenizer, contexts, first, last)
    text = slice_text(context, tokenizer, contexts, first, last)
    if original == text:
        return None
    text = WHITE_SPACE.sub(" ", text)
    if original == text:
        return "white space"
    words = words_of(context, contexts, first, last)
    if original == words and tokenizer.vocabulary.unk_id in contexts.ids[first : last + 1]:
        return "unknown word"
    if any(
        len("".join(tokenize(character, tokenizer.do_lower_case))) != 1
        for character in words
        if character != " "
    ):
        return "changed length"
    _, *later = occurrences(
        predicted_text(tokenizer, contexts, first, last), words, tokenizer.do_lower_case
    )
    return "first occurrence" if text in later else "unexplained"
