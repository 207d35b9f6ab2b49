"""The options of the scripts of `data_gen/`, each declared once (`bert_common/options.py`); nothing
slow is imported here.

    CorpusOptions           prepare_corpus.py
    PretrainingDataOptions  create_pretraining_data.py
    DocstringOptions        extract_docstrings.py
    TriviaQaOptions         convert_triviaqa.py

Library code takes the same classes: `PretrainingDataOptions(input_file="a.txt", …)` is what the
command line makes.
"""

import dataclasses
import os
import re

import numpy as np

from bert_common import files, parallel
from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, FILES, LARGEST_INT64, Options, option
from data_gen.pretraining.masking import DEFAULT_RATIOS, MaskingRatios
from data_gen.pretraining.records import STATISTICS_SUFFIX, shard_names
from data_gen.pretraining.schema import Schema

TEXT_FILES = "Text files: paths and patterns, separated by commas; gzipped or not."
# More are files of a few records each, and as many renames and disk writes.
_MOST_SHARDS = 10_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkerOptions(Options):
    """Worker processes."""

    num_workers: int | None = option(
        None,
        "Processes; the output does not depend on it.",
        minimum=1,
        maximum=512,
        default_text="all cores",
    )

    @property
    def workers(self) -> int:
        """The number of processes: that given or, by default, one a core."""
        return self.num_workers or parallel.default_num_workers()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions(WorkerOptions):
    """Bytes that are not UTF-8, and worker processes."""

    on_bad_utf8: str = option(
        "error", "What to do about bytes that are not UTF-8.", choices=("error", "replace")
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusOptions(TextOptions):
    """Corpus preparation."""

    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_file: str = option(
        None, "The prepared corpus; gzipped if the name ends in .gz.", required=True, path=True
    )
    input_format: str = option(
        "auto",
        "text: plain text; json: one object per line; wiki: WikiExtractor's <doc …>; auto: by each file's first "
        "line.",
        choices=("auto", "text", "json", "wiki"),
    )
    text_field: str = option("text", "Name of the field with the text in JSON lines.")
    document_separator: str = option(
        "auto",
        "What ends a document in plain text: a blank line, the end of the file, or the end of every line. auto: "
        "a blank line, but the end of the file where blank lines separate paragraphs.",
        choices=("auto", "blank_line", "file", "line"),
    )
    hard_wrapped: str = option(
        "auto",
        "Whether the lines of a paragraph are to be joined (true) or every line is a paragraph (false). auto: "
        "looks.",
        choices=("auto", "true", "false"),
    )
    held_out_fraction: float = option(
        0.0,
        "Share of the documents that is put aside for evaluation, into --held_out_file.",
        minimum=0,
        maximum=0.9,
    )
    held_out_file: str | None = option(
        None, "The held-out documents, prepared in the same way.", path=True
    )
    seed: int = option(12345, "Chooses the documents that are held out.", maximum=LARGEST_INT64)

    def check(self) -> None:
        super().check()
        if bool(self.held_out_fraction) != bool(self.held_out_file):
            raise UserError(
                "--held_out_fraction and --held_out_file belong together: give both or neither"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskingOptions(Options):
    """Masking and next-sentence prediction.

    In pre-training the ratios count for records without masks (--dynamic_masking) only.
    """

    max_predictions_per_seq: int = option(
        20,
        "Masked tokens of a sequence at most; about max_seq_length * masked_lm_prob. Training must have the number "
        "of the records.",
        minimum=1,
    )
    masking: str = option(
        DEFAULT_RATIOS,
        "Masking ratios: of the tokens to predict, the percentages that become [MASK], a random token, "
        "or stay.",
    )
    do_whole_word_mask: bool = option(False, "Mask words, not single word pieces.")
    next_sentence_prediction: bool = option(
        True,
        "Pairs of segments, and the task of deciding whether they belong together; false: single segments of full "
        "length.",
    )

    def check(self) -> None:
        super().check()
        MaskingRatios.parse(self.masking)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingDataOptions(MaskingOptions, TextOptions):
    """Pre-training data."""

    masked_lm_prob: float = option(0.15, "Share of the tokens to predict.", minimum=0, maximum=1)
    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_file: str = option(
        None,
        "TFRecord files, comma-separated, or NAME@16 for NAME-00000-of-00016 and so on.",
        required=True,
        path=True,
    )
    vocab_file: str = option(None, "Vocabulary, one token per line.", required=True, path=FILE)
    # The original's README calls it do_lower; its flag parser took any unique beginning.
    do_lower_case: bool = option(
        True, "Lower-case and strip accents; false for cased models.", aliases=("do_lower",)
    )
    max_seq_length: int = option(
        128, "Tokens of a sequence, [CLS] and [SEP] included.", minimum=5, maximum=1 << 15
    )
    random_seed: int = option(12345, "All randomness comes from it.", maximum=LARGEST_INT64)
    dupe_factor: int | None = option(
        None,
        "Passes over the text, each cut and masked differently.",
        minimum=1,
        default_text="10; with --dynamic_masking 1",
    )
    short_seq_prob: float = option(
        0.1, "Share of the documents cut into shorter sequences.", minimum=0, maximum=1
    )
    packed: bool = option(
        False,
        "Put several sequences into a row of max_seq_length tokens, so that there is next to no "
        "padding; the model is trained as on the same sequences unpacked.",
    )
    max_sequences_per_row: int | None = option(
        None,
        "With --packed: sequences of a row at most.",
        minimum=1,
        maximum=127,
        default_text="max_seq_length / 16, from 2 to 12",
    )
    dynamic_masking: bool = option(
        False,
        "Write sequences without masks: run_pretraining.py masks them anew in every pass over them.",
    )
    gzip_compress: bool = option(False, "Compress the records (names stay as given).")
    resume: bool = option(False, "Resume an interrupted run of the same flags.")

    def check(self) -> None:
        super().check()
        maskable = self.max_seq_length - (3 if self.next_sentence_prediction else 2)
        if self.max_predictions_per_seq > maskable:
            raise UserError(
                f"--max_predictions_per_seq={self.max_predictions_per_seq}: a sequence of {self.max_seq_length} "
                f"has 1 to {maskable} tokens that can be masked"
            )
        if self.dynamic_masking and (self.do_whole_word_mask or self.masking != DEFAULT_RATIOS):
            raise UserError(
                f"--{'do_whole_word_mask' if self.do_whole_word_mask else 'masking'}: with --dynamic_masking "
                "run_pretraining.py chooses the masks: give it there"
            )
        for name in filter(files.is_remote, map(str.strip, self.output_file.split(","))):
            raise UserError(
                f"--output_file: {name} is not on a local disk, where the work directory beside it must be: "
                "write the records on a local disk, then copy them"
            )

    @property
    def schema(self) -> Schema:
        """Schema of the records."""
        return Schema(
            self.max_seq_length,
            0 if self.dynamic_masking else self.max_predictions_per_seq,
            (self.max_sequences_per_row or min(max(self.max_seq_length // 16, 2), 12))
            if self.packed
            else 0,
        )

    @property
    def passes(self) -> int:
        """Over the text, each cut differently: --dupe_factor."""
        return self.dupe_factor or (1 if self.dynamic_masking else 10)

    def generator(self, *key: int) -> np.random.Generator:
        """The random generator for one purpose and place."""
        return np.random.default_rng([self.random_seed % 2**64, *key])

    def output_files(self) -> tuple[list[str], str]:
        """(the files that --output_file names, name of the statistics file).

        Raises:
          UserError: no name, a name twice, or a wrong number of shards.
        """
        names = [name.strip() for name in self.output_file.split(",") if name.strip()]
        paths: list[str] = []
        for name in names:
            sharded = re.fullmatch(r"(.+)@(\d+)", name)
            if sharded and not 1 <= int(sharded[2]) <= _MOST_SHARDS:
                raise UserError(
                    f"--output_file={name}: the number of shards must be between 1 and {_MOST_SHARDS}"
                )
            paths += shard_names(sharded[1], int(sharded[2])) if sharded else [name]
        if not paths:
            raise UserError("--output_file names no file")
        if len({os.path.realpath(path) for path in paths}) < len(paths):
            raise UserError(f"--output_file={self.output_file}: the same file is named twice")
        return paths, re.sub(r"@\d+$", "", names[0]) + STATISTICS_SUFFIX


@dataclasses.dataclass(frozen=True, kw_only=True)
class DocstringOptions(WorkerOptions):
    """Docstrings of the installed packages."""

    output_file: str = option(
        None, "JSON lines with the fields package and text.", required=True, path=True
    )
    packages: tuple[str, ...] = option(
        (), "Top-level packages to read; stdlib is the standard library.", default_text="all"
    )
    min_words: int = option(20, "Docstrings with less prose are left out.", minimum=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TriviaQaOptions(Options):
    """TriviaQA as SQuAD data."""

    qa_file: str = option(
        None, "Questions and answers, e.g. qa/wikipedia-train.json.", required=True, path=FILE
    )
    evidence_dir: str = option(
        None, "The folder of the articles, e.g. evidence/wikipedia.", required=True, path=DIRECTORY
    )
    output_file: str = option(None, "SQuAD file to write.", required=True, path=True)
    max_tokens: int = option(
        400, "Tokens, as white space delimits them, that are used of each article.", minimum=1
    )
