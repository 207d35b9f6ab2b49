"""From files of texts, one per line, to a run directory; the label of a text is the number of its
words."""

import dataclasses
import os

import numpy as np

from bert_common import files, json_files
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import constant_predictions
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import Run
from bert_tf.training.examples import Dataset, Datasets, Examples
from data_gen.labeled.pair_features import encode_pairs
from modeling.checkpoints.load import Checkpoint
from tests.bert_tf.tasks.text_length.model import BertForLength
from tests.bert_tf.tasks.text_length.options import LengthOptions


@dataclasses.dataclass(frozen=True)
class Texts:
    """The texts of a file and their labels, float32 [E]."""

    path: str
    texts: list[str]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.texts)


def read_data(options: LengthOptions, checkpoint: Checkpoint) -> Datasets:
    """Reads and encodes the files that the run needs."""
    checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    paths = {
        "train": options.do_train and options.train_file,
        "dev": options.evaluates and options.dev_file,
        "test": options.do_predict and options.test_file,
    }
    splits = {}
    for name, path in paths.items():
        if path:
            with files.open_file(files.check_readable(path, f"{name}_file")) as file:
                texts = file.read().splitlines()
            labels = np.array([len(text.split()) for text in texts], np.float32)
            features = encode_pairs(checkpoint.tokenizer, texts, None, options.max_seq_length)
            splits[name] = Dataset(
                Texts(path, texts, labels),
                Examples(
                    {"input_ids": features.input_ids, "segment_ids": features.segment_ids},
                    features.row_lengths,
                    {"label_ids": labels},
                ),
            )
    return Datasets(
        train=splits.get("train"),
        dev={name: split for name, split in splits.items() if name == "dev"},
        test={name: split for name, split in splits.items() if name == "test"},
        description={"kind": "length", "max_seq_length": options.max_seq_length},
        notes=[],
        # Higher is better.
        metrics=("negative_error",),
    )


class LengthTask(FineTuningTask):
    """Texts and their lengths."""

    def __init__(self, options: LengthOptions):
        super().__init__(options, read_data)

    def make_model(self, dtype: str) -> BertForLength:
        return BertForLength(self.config, seed=self.options.seed, dtype=dtype)

    def outputs(self, model: BertForLength, features: dict) -> dict:
        return {"length": model(features)[:, 0]}

    def answer(self, trainer: Run, split: Dataset) -> np.ndarray:
        """float32 [E], lengths."""
        return trainer.predict(split.examples)["length"]

    def score(self, split: Dataset, answers: np.ndarray) -> dict[str, float]:
        return {"negative_error": -float(np.abs(answers - split.source.labels).mean())}

    def constant_predictions(self, name: str, split: Dataset, answers: np.ndarray) -> str | None:
        values = [f"{length:.1f} words" for length in answers]
        return constant_predictions(name, values, split.source.labels.tolist(), "texts")

    def write_predictions(self, name: str, split: Dataset, answers: np.ndarray) -> list[str]:
        path = os.path.join(self.options.output_dir, "predictions.jsonl")
        with files.atomic_write(path) as file:
            file.writelines(
                json_files.line_of({"text": text, "length": float(length)})
                for text, length in zip(split.source.texts, answers, strict=True)
            )
        return [path]


def run(options: LengthOptions) -> int:
    """What `run_length.py` does."""
    return driver.run(LengthTask, options)
