"""Conversion of a checkpoint for others to use: `convert_checkpoint.py`, and the model card of
Hugging Face's format.

Input: a checkpoint; of a run directory also its flags and scores. Output: the files of `convert`,
with a `README.md` whose front matter the hub reads: library, task and base model.
"""

import dataclasses
import json
import os

from bert_common import json_files
from bert_common.errors import say
from bert_tf.runs import model_card
from bert_tf.tables import one_line
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    FLAGS_FILE,
    CheckpointReader,
    read_task,
)
from modeling.checkpoints.convert import ConvertOptions, convert, paths_of, read_mean
from modeling.checkpoints.huggingface import architecture_of
from modeling.checkpoints.load import config_for
from modeling.checkpoints.named_weights import hub_name
from modeling.config import BertConfig

# Class of transformers → what the hub calls its task.
_HUB_TASKS = {
    "BertForSequenceClassification": "text-classification",
    "BertForTokenClassification": "token-classification",
    "BertForQuestionAnswering": "question-answering",
    "BertForMultipleChoice": "multiple-choice",
    "BertForPreTraining": "fill-mask",
    "BertForMaskedLM": "fill-mask",
    "BertLMHeadModel": "text-generation",
}
_ENCODER_TASK = "feature-extraction"
_SENTENCES_TASK = "sentence-similarity"
# Format → the library that the hub loads its directories with.
_LIBRARIES = {"huggingface": "transformers", "sentence_transformers": "sentence-transformers"}
# Tasks without a `pipeline` in transformers 5 → the class, and the last lines of a program.
_WITHOUT_PIPELINE = {
    "multiple-choice": (
        "AutoModelForMultipleChoice",
        (
            'choices = ["She goes in.", "It sings."]',
            'inputs = tokenizer(["She opens the door."] * 2, choices, padding=True, '
            'return_tensors="pt")',
            "logits = model(**{key: value[None] for key, value in inputs.items()}).logits",
            "print(choices[logits.argmax()])",
        ),
    ),
    "question-answering": (
        "AutoModelForQuestionAnswering",
        (
            'inputs = tokenizer("Where was Ruth born?", "Ruth was born in Oslo.", '
            'return_tensors="pt")',
            "outputs = model(**inputs)",
            "start, end = outputs.start_logits.argmax(), outputs.end_logits.argmax()",
            'print(tokenizer.decode(inputs["input_ids"][0, start:end + 1]))',
        ),
    ),
}
_TEXT = "Anna Berg plays the guitar in Oslo."
_MASKED_TEXT = "Anna Berg plays the [MASK] in Oslo."


def run(options: ConvertOptions) -> None:
    """Converts a checkpoint, and prints the report, for `convert_checkpoint.py`."""
    texts = {}
    paths = paths_of(options.input)
    if options.output_format in _LIBRARIES:
        source = read_mean(paths)
        if len(paths) > 1:
            # The scores of a run do not hold for a mean.
            source = dataclasses.replace(source, directory=None)
        config = config_for(source, options.bert_config_file)
        # `convert` refuses a checkpoint without a configuration below.
        if config is not None:
            name = os.path.basename(options.output.rstrip("/"))
            texts[model_card.CARD_FILE] = card(source, config, name, options.output_format)
    report = convert(
        options.input,
        options.output_format,
        options.output,
        options.bert_config_file,
        options.vocab_file,
        options.do_lower_case,
        texts,
        options.optimizer_state,
    )
    say(report)


def card(
    source: CheckpointReader, config: BertConfig, name: str, output_format: str = "huggingface"
) -> str:
    """Returns the model card for Hugging Face's hub: front matter in YAML, then Markdown.

    Args:
      source: weights of the model; if they are of a run directory, the card has its scores.
      name: name of the model.
      output_format: "huggingface" or "sentence_transformers".
    """
    directory = "" if source.directory is None else source.directory
    recorded = json_files.read_object(os.path.join(directory, FLAGS_FILE), {"flags": dict | None})
    flags = dict(recorded.get("flags") or {})
    if os.path.basename(directory) == BEST_DIRECTORY:
        run_directory = os.path.dirname(directory)
    else:
        run_directory = directory
    library = _LIBRARIES[output_format]
    hub_task = _SENTENCES_TASK
    if library == "transformers":
        # The class follows from the weights, as for `config.json`.
        architecture = architecture_of(source.tensors, config.causal)
        hub_task = _HUB_TASKS.get(architecture, _ENCODER_TASK)
    title = one_line(name)
    matter = {
        "library_name": library,
        "pipeline_tag": hub_task,
        "tags": ["bert", "bert-tf"],
    }
    start = str(flags.get("init_checkpoint") or "")
    # The hub links a model to its base only by a name that it knows itself.
    base = hub_name(start)
    if base:
        matter["base_model"] = base
    elif start:
        # Directories of the machine concern nobody else.
        flags["init_checkpoint"] = os.path.basename(start.rstrip("/"))
    # A directory without flags is no run, and its files have other meanings.
    scores = model_card.score_tables(run_directory) if flags else []
    summary = model_card.summary(config, recorded.get("script"), flags, read_task(source) or {})
    parts = [f"# {title}", summary]
    if scores:
        parts += ["## Scores", *scores]
    # The program shows how to load the model; it runs as it is beside the directory.
    program = "\n".join(_program(title, hub_task))
    parts += ["## Use", f"```python\n{program}\n```"]
    lines = ["---"]
    for key, value in matter.items():
        # JSON is YAML, and quotes what needs it.
        lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    lines += ["---", "", "\n\n".join(parts), ""]
    return "\n".join(lines)


def _program(title: str, hub_task: str) -> list[str]:
    """Returns the lines of a program that runs beside the directory of the model."""
    if hub_task == _SENTENCES_TASK:
        return [
            "from sentence_transformers import SentenceTransformer",
            "",
            f"model = SentenceTransformer({title!r})",
            f"vectors = model.encode([{_TEXT!r}, 'She bakes bread.'])",
            "print(model.similarity(vectors, vectors))",
        ]
    if hub_task in _WITHOUT_PIPELINE:
        model_class, last_lines = _WITHOUT_PIPELINE[hub_task]
        return [
            f"from transformers import {model_class}, AutoTokenizer",
            "",
            f"tokenizer = AutoTokenizer.from_pretrained({title!r})",
            f"model = {model_class}.from_pretrained({title!r})",
            *last_lines,
        ]
    text = _MASKED_TEXT if hub_task == "fill-mask" else _TEXT
    return [
        "from transformers import pipeline",
        "",
        f"model = pipeline({hub_task!r}, {title!r})",
        f"print(model({text!r}))",
    ]
