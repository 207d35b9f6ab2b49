"""Conversion of a checkpoint for others to use: `convert_checkpoint.py`, and the model card of
Hugging Face's format.

Input: a checkpoint; of a run directory also its flags and scores. Output: `convert`'s, with a
`README.md` whose front matter the hub reads: library, task, base model, and scores as
`model-index`.
"""

import dataclasses
import json
import os

from bert_common import json_files
from bert_tf import charts
from bert_tf.runs import model_card
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.tables import one_line
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    FLAGS_FILE,
    StoredWeights,
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
_ENCODER_TASK, _SENTENCES_TASK = "feature-extraction", "sentence-similarity"
# Format → the library that the hub loads its directories with.
_LIBRARIES = {"huggingface": "transformers", "sentence_transformers": "sentence-transformers"}
# Tasks without a `pipeline` in transformers 5 → the class, and lines of Python.
_WITHOUT_PIPELINE = {
    "multiple-choice": (
        "AutoModelForMultipleChoice",
        (
            'choices = ["She goes in.", "It sings."]',
            'inputs = tokenizer(["She opens the door."] * 2, choices, padding=True, return_tensors="pt")',
            "logits = model(**{key: value[None] for key, value in inputs.items()}).logits",
            "print(choices[logits.argmax()])",
        ),
    ),
    "question-answering": (
        "AutoModelForQuestionAnswering",
        (
            'inputs = tokenizer("Where was Ruth born?", "Ruth was born in Oslo.", return_tensors="pt")',
            "outputs = model(**inputs)",
            "start, end = outputs.start_logits.argmax(), outputs.end_logits.argmax()",
            'print(tokenizer.decode(inputs["input_ids"][0, start:end + 1]))',
        ),
    ),
}
_TEXT, _MASKED_TEXT = "Anna Berg plays the guitar in Oslo.", "Anna Berg plays the [MASK] in Oslo."
# Options that name the data of a run, the first that has a value.
_DATA_OPTIONS = ("task_name", "predict_file", "dev_file", "data_dir", "train_file", "input_file")


def run(options: ConvertOptions) -> None:
    """Converts a checkpoint, and prints what was found, for `convert_checkpoint.py`."""
    texts, paths = {}, paths_of(options.input)
    if options.output_format in _LIBRARIES:
        source = read_mean(paths)
        # The scores there are not those of a mean.
        source = dataclasses.replace(
            source, directory=source.directory if len(paths) == 1 else None
        )
        if (config := config_for(source, options.bert_config_file)) is not None:
            texts[model_card.CARD_FILE] = card(
                source, config, os.path.basename(options.output.rstrip("/")), options.output_format
            )
    print(
        convert(
            options.input,
            options.output_format,
            options.output,
            options.bert_config_file,
            options.vocab_file,
            options.do_lower_case,
            texts,
        )
    )


def card(
    source: StoredWeights, config: BertConfig, name: str, output_format: str = "huggingface"
) -> str:
    """The model card of a directory for Hugging Face's hub: front matter in YAML, then Markdown.

    Args:
      source: the weights that are written there; of a run directory its scores are in the card.
      name: of the model.
      output_format: "huggingface" or "sentence_transformers".
    """
    directory = source.directory or ""
    found = json_files.read_object(os.path.join(directory, FLAGS_FILE), {"flags": dict | None})
    flags, task = found.get("flags") or {}, read_task(source) or {}
    run_directory = (
        os.path.dirname(directory) if os.path.basename(directory) == BEST_DIRECTORY else directory
    )
    library = _LIBRARIES[output_format]
    hub_task = (
        _SENTENCES_TASK
        if library == "sentence-transformers"
        else _HUB_TASKS.get(architecture_of(source.tensors, config.causal), _ENCODER_TASK)
    )
    title, scores = one_line(name), model_card.score_tables(run_directory) if flags else []
    start = flags.get("init_checkpoint")
    base = hub_name(str(start or ""))
    # Without the directories of the machine that they were on.
    if start and not base:
        flags = {**flags, "init_checkpoint": os.path.basename(str(start).rstrip("/"))}
    data = str(next((flags[one] for one in _DATA_OPTIONS if flags.get(one)), "custom")).rstrip("/")
    data = os.path.basename(data)
    results = json_files.read_object(os.path.join(run_directory, EVAL_RESULTS)) if flags else {}
    metrics = [
        {"type": metric, "name": metric, "value": value}
        for key, value in results.items()
        if isinstance(value, float)
        and charts.find(metric := key.removeprefix("eval_")).group == charts.QUALITY
    ]
    matter = {
        "library_name": library,
        "pipeline_tag": hub_task,
        "tags": ["bert", "bert-tf"],
        **({"base_model": base} if base else {}),
        **(
            {
                "model-index": [
                    {
                        "name": title,
                        "results": [
                            {
                                "task": {"type": hub_task},
                                "dataset": {"type": data, "name": data},
                                "metrics": metrics,
                            }
                        ],
                    }
                ]
            }
            if metrics
            else {}
        ),
    }
    # A program that runs as it is beside the directory of the model.
    if hub_task == _SENTENCES_TASK:
        program = [
            "from sentence_transformers import SentenceTransformer",
            "",
            f"model = SentenceTransformer({title!r})",
            f"vectors = model.encode([{_TEXT!r}, 'She bakes bread.'])",
            "print(model.similarity(vectors, vectors))",
        ]
    elif hub_task in _WITHOUT_PIPELINE:
        model_class, last_lines = _WITHOUT_PIPELINE[hub_task]
        program = [
            f"from transformers import {model_class}, AutoTokenizer",
            "",
            f"tokenizer = AutoTokenizer.from_pretrained({title!r})",
            f"model = {model_class}.from_pretrained({title!r})",
            *last_lines,
        ]
    else:
        program = [
            "from transformers import pipeline",
            "",
            f"model = pipeline({hub_task!r}, {title!r})",
            f"print(model({_MASKED_TEXT if hub_task == 'fill-mask' else _TEXT!r}))",
        ]
    # JSON is YAML, and quotes what needs it.
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in matter.items()]
    parts = [
        f"# {title}",
        model_card.summary(config, found.get("script"), flags, task),
        *(["## Scores", *scores] if scores else []),
        "## Use",
        "\n".join(["```python", *program, "```"]),
    ]
    return "\n".join(["---", *lines, "---", "", "\n\n".join(parts), ""])
