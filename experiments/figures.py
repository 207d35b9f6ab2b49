"""Draws figures 1 to 4 of the paper from a model that is built and texts that are tokenized.

  python experiments/figures.py --init_checkpoint=samples/tiny_books --output_dir=docs/plots
  python experiments/figures.py --init_checkpoint=DIR --output_dir=figures "A text." "What follows."

Another model or another text gives other figures: layers and tables follow the weights,
connections the attention, answers the model's outputs.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.report.pictures import escape

_WIDTH = 380
_ROW = 24
_MOST_TOKENS = 40
# The paper's examples.
_TEXTS = ("my dog is hairy", "he likes playing")
# Classes of the drawn heads: MNLI, SST-2, and CoNLL-2003 with B and I of four types and O.
_PAIR_CLASSES = 3
_TEXT_CLASSES = 2
_TAGS = 9
# The page behind a picture may be light or dark whatever the reader's system is.
_STYLE = (
    "text{font:12px sans-serif;fill:#1c1c28}.page{fill:#fff}.first{fill:#cfe3ff}"
    ".second{fill:#ffe2c4}.model{fill:#e6e6ee}path{stroke:#8a8aa0;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f0f6}.page{fill:#1b1b24}.first{fill:#25467a}"
    ".second{fill:#7a4a1c}.model{fill:#3a3a4a}}"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FigureOptions(Options):
    """Figures of the paper."""

    texts: tuple[str, ...] = ()
    init_checkpoint: str | None = option(
        None, "Checkpoint whose model is drawn.", required=True, path=True
    )
    output_dir: str | None = option(None, "Directory of the pictures.", required=True, path=True)

    def check(self) -> None:
        super().check()
        is_empty = any(not text.strip() for text in self.texts)
        if len(self.texts) not in (0, 2) or is_empty:
            raise UserError(f"two texts with words are drawn, but {list(self.texts)} given")


def run(options: FigureOptions) -> None:
    """Writes figure1.svg to figure4.svg; raises `UserError` for texts that are too long."""
    import numpy as np

    from data_gen.labeled.pair_features import encode_pairs
    from modeling.checkpoints.load import open_checkpoint

    checkpoint = open_checkpoint(options.init_checkpoint)
    longest = min(_MOST_TOKENS, checkpoint.config.max_position_embeddings)
    first, second = options.texts or _TEXTS
    pair = encode_pairs(checkpoint.tokenizer, [first], [second], longest + 1)
    if len(pair.input_ids) > longest:
        raise UserError(f"the texts have more than {longest} tokens, which is what can be drawn")
    ids = np.asarray(pair.input_ids)[None]
    features = {"input_ids": ids, "segment_ids": np.int32(pair.segment_ids)[None]}
    tokens = [checkpoint.tokenizer.vocabulary.tokens[index] for index in ids[0]]
    pictures = {
        "figure1": _pretraining_and_fine_tuning(checkpoint, features, tokens),
        "figure2": _input_representation(checkpoint, features, tokens),
        "figure3": _architectures(checkpoint.config, features, tokens),
        "figure4": _tasks(checkpoint.config, features, tokens),
    }
    for name, picture in pictures.items():
        path = os.path.join(options.output_dir, f"{name}.svg")
        files.make_output_directory(options.output_dir, "output_dir")
        with files.atomic_write(path) as file:
            file.write(picture)
        print(path)


def _pretraining_and_fine_tuning(checkpoint, features: Mapping, tokens: Sequence[str]) -> str:
    """Figure 1: both tasks of pre-training, and the same encoder with another output layer."""
    import numpy as np

    from modeling.checkpoints.load import load_weights
    from modeling.fine_tuning import BertForQuestionAnswering
    from modeling.pretraining import BertForPreTraining

    vocabulary = checkpoint.tokenizer.vocabulary
    model = BertForPreTraining(checkpoint.config)
    load_weights(model, checkpoint.source)
    # A token in the middle of the first text.
    position = tokens.index("[SEP]") // 2
    masked = {**features, "input_ids": features["input_ids"].copy()}
    masked["input_ids"][0, position] = vocabulary.mask_id
    outputs = model({**masked, "masked_lm_positions": np.array([[position]])})
    guess = vocabulary.tokens[int(np.argmax(outputs["masked_lm_logits"]))]
    is_next = int(np.argmax(outputs["next_sentence_logits"])) == 0
    answers = {0: f"C: {'IsNext' if is_next else 'NotNext'}", position: f"T: {guess}"}
    shown = [*tokens[:position], "[MASK]", *tokens[position + 1 :]]
    inside = _description(checkpoint.config)
    before = _panel("Pre-training: next sentence, masked LM", shown, features, inside, answers)
    starts, _ = BertForQuestionAnswering(checkpoint.config)(features)
    after = _panel(
        "Fine-tuning: the same encoder, here for answers",
        tokens,
        features,
        inside,
        _of_second_text(starts.shape[1], features, "start, end"),
    )
    return _svg("Figure 1: pre-training and fine-tuning", [before, after])


def _input_representation(checkpoint, features: Mapping, tokens: Sequence[str]) -> str:
    """Figure 2: each input is the sum of a row of three tables."""
    from modeling.encoder import BertEncoder

    encoder = BertEncoder(checkpoint.config)
    encoder(features)
    shapes = {}
    for variable in encoder.weights:
        table = variable.path.split("/")[-1]
        shapes[table] = "×".join(str(size) for size in variable.shape)
    parts = []
    tables = {"token": "word", "segment": "token_type", "position": "position"}
    for number, (name, table) in enumerate(tables.items()):
        x = 62 + 125 * number
        parts += [_text(name, x, 18), _text(shapes[f"{table}_embeddings"], x, 34)]
    segments = features["segment_ids"][0]
    for row, token in enumerate(tokens):
        y = 46 + _ROW * row
        kind = _kind(features, row)
        values = (token, "AB"[segments[row]], str(row))
        for number, value in enumerate(values):
            parts.append(_box(10 + 125 * number, y, 105, f"E({value})", kind))
        parts += [_text("+", 125, y + 14), _text("+", 250, y + 14)]
    return _svg("Figure 2: input representation", [("", parts, len(tokens))])


def _architectures(config, features: Mapping, tokens: Sequence[str]) -> str:
    """Figure 3: what each token attends to in each layer, in both directions and to the left."""
    import numpy as np

    from modeling.encoder import BertEncoder

    panels = []
    for title, causal in (("BERT: both directions", False), ("Left to right, as GPT", True)):
        encoder = BertEncoder(dataclasses.replace(config, causal=causal))
        outputs = encoder(**features, return_attention_probabilities=True)
        step = (_WIDTH - 130) / len(outputs["attention_probabilities"])
        parts = []
        for layer, probabilities in enumerate(outputs["attention_probabilities"]):
            left = 100 + step * layer
            attends = np.asarray(probabilities)[0].mean(axis=0) > 0
            lines = ""
            for query, key in np.argwhere(attends).tolist():
                lines += f"M{left:.0f} {_middle(key)}L{left + step:.0f} {_middle(query)}"
            parts += [f'<path d="{lines}"/>', _text(f"layer {layer + 1}", left + step / 2, 38)]
        for row, token in enumerate(tokens):
            kind = _kind(features, row)
            parts += [
                _box(10, _middle(row) - 10, 90, token, kind),
                _box(_WIDTH - 34, _middle(row) - 10, 26, "T" if row else "C", kind),
            ]
        panels.append((title, parts, len(tokens)))
    return _svg("Figure 3: architectures", panels)


def _tasks(config, features: Mapping, tokens: Sequence[str]) -> str:
    """Figure 4: four kinds of tasks, each with one output layer."""
    from modeling.fine_tuning import (
        BertForClassification,
        BertForQuestionAnswering,
        BertForTokenClassification,
    )

    inside = _description(config)
    end = tokens.index("[SEP]") + 1
    single = {name: values[:, :end] for name, values in features.items()}
    pair = BertForClassification(config, classes=_PAIR_CLASSES)(features)
    text = BertForClassification(config, classes=_TEXT_CLASSES)(single)
    starts, _ = BertForQuestionAnswering(config)(features)
    tags = BertForTokenClassification(config, classes=_TAGS)(single)
    tagged = {row: f"T: {tags.shape[2]} tags" for row in range(1, tags.shape[1] - 1)}
    panels = [
        _panel(
            "Two sentences: MNLI, QQP, MRPC, RTE …",
            tokens,
            features,
            inside,
            {0: f"C: {pair.shape[1]} classes"},
        ),
        _panel(
            "One sentence: SST-2, CoLA",
            tokens[:end],
            single,
            inside,
            {0: f"C: {text.shape[1]} classes"},
        ),
        _panel(
            "Question and text: SQuAD",
            tokens,
            features,
            inside,
            _of_second_text(starts.shape[1], features, "start, end"),
        ),
        _panel("Tags: named entities", tokens[:end], single, inside, tagged),
    ]
    return _svg("Figure 4: four kinds of tasks", panels)


def _of_second_text(num_tokens: int, features: Mapping, text: str) -> dict[int, str]:
    """Returns the text for every token of the second sentence but its [SEP]."""
    segments = features["segment_ids"][0]
    return {row: f"T: {text}" for row in range(num_tokens - 1) if segments[row] == 1}


def _description(config) -> list[str]:
    return [
        "BERT",
        f"L={config.num_hidden_layers}",
        f"H={config.hidden_size}",
        f"A={config.num_attention_heads}",
    ]


def _middle(row: int) -> int:
    """Returns where the middle of a token's row is, from the top of its panel."""
    return 56 + _ROW * row


def _kind(features: Mapping, row: int) -> str:
    return ("first", "second")[features["segment_ids"][0][row]]


def _panel(
    title: str,
    tokens: Sequence[str],
    features: Mapping,
    inside: Sequence[str],
    outputs: Mapping[int, str],
) -> tuple[str, list[str], int]:
    """Returns a panel for `_svg`: tokens that enter a box, and outputs that leave it."""
    height = _ROW * len(tokens)
    parts = [f'<rect class="model" x="130" y="44" width="90" height="{height}" rx="6"/>']
    for number, line in enumerate(inside):
        parts.append(_text(line, 175, 44 + height / 2 + 16 * (number - 1)))
    for row, token in enumerate(tokens):
        kind = _kind(features, row)
        parts += [
            f'<path d="M100 {_middle(row)}H130"/>',
            _box(10, _middle(row) - 10, 90, token, kind),
        ]
        if row in outputs:
            parts += [
                f'<path d="M220 {_middle(row)}H250"/>',
                _box(250, _middle(row) - 10, 120, outputs[row], kind),
            ]
    return title, parts, len(tokens)


def _box(x: float, y: float, width: float, text: str, kind: str) -> str:
    rectangle = f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="20" rx="4"/>'
    return rectangle + _text(text, x + width / 2, y + 14)


def _text(text: str, x: float, y: float) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _svg(title: str, panels: Sequence[tuple[str, list[str], int]]) -> str:
    """Returns a picture of panels below each other: heading, parts, number of tokens of each."""
    parts = []
    height = 0
    for heading, drawn, num_tokens in panels:
        parts.append(f'<g transform="translate(0 {height})">')
        if heading:
            parts.append(_text(heading, _WIDTH / 2, 18))
        parts += [*drawn, "</g>"]
        height += 60 + _ROW * num_tokens
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>'
        f'<style>{_STYLE}</style><rect class="page" width="{_WIDTH}" height="{height}"/>'
        f"{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    cli.run(FigureOptions, "experiments.figures:run", positional="texts")
