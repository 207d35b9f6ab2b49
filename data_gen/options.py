"""Options of the scripts in `data_gen/`, each declared once (`bert_common/options.py`).

This module imports nothing slow, so that --help is fast.

    FolderOptions           read_folder.py
    CorpusOptions           prepare_corpus.py
    PretrainingDataOptions  create_pretraining_data.py
    DocstringOptions        extract_docstrings.py
    TriviaQaOptions         convert_triviaqa.py

Library code takes the same classes: the command line makes `PretrainingDataOptions(input_file=…)`.
"""

import os
import re
from typing import ClassVar, NamedTuple

import numpy as np

from bert_common import files, outputs, parallel
from bert_common.errors import UserError
from bert_common.options import (
    DIRECTORY,
    FILE,
    FILES,
    LARGEST_INT64,
    OUTPUT,
    Options,
    option,
    option_class,
)
from bert_common.plugins import Plugins
from data_gen.pretraining.masking import DEFAULT_RATIOS, MaskingRatios
from data_gen.pretraining.records import STATISTICS_SUFFIX, shard_names
from data_gen.pretraining.schema import Schema

# Work of a script → the function of its options that does it in a pipeline of Apache Beam.
PIPELINES = Plugins(
    "pipeline of Apache Beam for",
    {
        "records": "data_gen.beam.records:generate",
        "a corpus": "data_gen.beam.corpus:prepare",
        "counts of words": "data_gen.beam.words:count",
    },
)
TEXT_FILES = "Text files: comma-separated paths and patterns; compressed or not."
# More shards have few records each, and renames and disk writes take most of the time.
_MAX_SHARDS = 10_000
_GIVE_IN_TRAINING = (
    "with --dynamic_masking run_pretraining.py chooses the masks: give the flag there"
)


@option_class
class WorkerOptions(Options):
    """Worker processes."""

    num_workers: int | None = option(
        None,
        "Number of worker processes. The output does not depend on it.",
        minimum=1,
        maximum=512,
        default_text="all cores",
    )

    @property
    def workers(self) -> int:
        """Number of processes, by default one per core."""
        if self.num_workers is None:
            return parallel.default_num_workers()
        return self.num_workers


@option_class
class TextOptions(WorkerOptions):
    """Bytes that are not UTF-8, and worker processes."""

    on_bad_utf8: str = option(
        "error", "Treatment of bytes that are not UTF-8.", choices=("error", "replace")
    )


class Share(NamedTuple):
    """Work of one of some machines: items `number`, `number` + `machines` and so on, from 0."""

    number: int
    machines: int

    @property
    def name(self) -> str:
        """For names of files, e.g. "1-of-4"."""
        return f"{self.number + 1}-of-{self.machines}"

    def names(self) -> list[str]:
        """Returns the names of the shares of all machines."""
        return [Share(number, self.machines).name for number in range(self.machines)]

    def of(self, total: int) -> range:
        """Returns the numbers of the items, of so many, that this machine does."""
        return range(self.number, total, self.machines)


@option_class
class BeamOptions(TextOptions):
    """Engine that does the work."""

    beam_pipeline_options: str | None = option(
        None,
        "Work in a pipeline of Apache Beam with these options, e.g. runner=FlinkRunner,"
        "flink_master=HOST:8081; the output is the same. See docs/many_machines.md.",
        affects_result=False,
    )


@option_class
class EngineOptions(BeamOptions):
    """Engine or machines that do the work."""

    part: str | None = option(
        None,
        "Share of this machine, e.g. 1/4, of work in a directory that all machines see. Give the "
        "command twice on each: first to prepare its share of the text, and when all are prepared "
        "to write the output.",
        affects_result=False,
    )
    # Flags of work that no engine does.
    _without_engine: ClassVar[tuple[str, ...]] = ("num_workers", "part")

    def check(self) -> None:
        super().check()
        if self.part is not None:
            is_part = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", str(self.part))
            if not is_part or self.share.number >= self.share.machines:
                raise UserError(f"--part={self.part}: a number and how many there are, e.g. 1/4")
        if self.beam_pipeline_options is None:
            return
        for name in self._without_engine:
            if getattr(self, name):
                raise UserError(
                    f"--{name}: with --beam_pipeline_options the runner decides who works, and "
                    "repeats what failed: leave it out"
                )

    @property
    def share(self) -> Share:
        """The work of this machine, by --part."""
        if self.part is None:
            return Share(0, 1)
        number, _, count = self.part.partition("/")
        return Share(int(number) - 1, int(count))


@option_class
class FolderOptions(Options):
    """Documents of a folder."""

    input_dir: str = option(None, "Folder of the documents.", required=True, path=DIRECTORY)
    output_file: str = option(
        None, "JSON lines to write, with the fields file and text.", required=True, path=OUTPUT
    )
    text_field: str = option(
        "text", "Name of the field or column with the text in JSON, tables and Parquet files."
    )
    on_bad_utf8: str = option(
        "error", "Treatment of bytes that are not UTF-8.", choices=("error", "replace")
    )


@option_class
class CorpusOptions(EngineOptions):
    """Corpus preparation."""

    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_file: str = option(
        None,
        "Prepared corpus to write; gzipped if the name ends in .gz.",
        required=True,
        path=OUTPUT,
    )
    input_format: str = option(
        "auto",
        "Format of the input. text: plain text; json: one object per line; wiki: WikiExtractor's "
        "<doc …>; auto: recognized by each file's beginning, as are CSV, TSV, JSON lists, WET "
        "and Parquet files.",
        choices=("auto", "text", "json", "wiki"),
    )
    text_field: str = option(
        "text",
        "Name of the field with the text in JSON, or of its column in CSV, TSV and Parquet files.",
        aliases=("text_column",),
    )
    document_separator: str = option(
        "auto",
        "End of a document in plain text: a blank line, the end of the file, or the end of every "
        "line. auto: a blank line, but the end of the file if blank lines separate paragraphs.",
        choices=("auto", "blank_line", "file", "line"),
    )
    hard_wrapped: str = option(
        "auto",
        "Join the lines of a paragraph (true), or take every line for a paragraph (false). auto: "
        "inferred from the length and the ends of lines.",
        choices=("auto", "true", "false"),
    )
    remove_duplicates: bool = option(
        False,
        "Leave out documents and paragraphs that occurred before, word for word; they are counted "
        "in any case.",
    )
    held_out_fraction: float = option(
        0.0,
        "Fraction of the documents to write to --held_out_file, for evaluation; the words that "
        "they have are printed.",
        minimum=0,
        maximum=0.9,
    )
    held_out_file: str | None = option(
        None, "File for the held-out documents, prepared in the same way.", path=OUTPUT
    )
    seed: int = option(12345, "Seed of the choice of held-out documents.", maximum=LARGEST_INT64)

    def check(self) -> None:
        super().check()
        # Either of them alone would silently lose or keep documents.
        if bool(self.held_out_fraction) != bool(self.held_out_file):
            raise UserError(
                "--held_out_fraction and --held_out_file belong together: give both or neither"
            )


@option_class
class MaskingOptions(Options):
    """Masking and next-sentence prediction.

    In pre-training the ratios count for records without masks (--dynamic_masking) only.
    """

    max_predictions_per_seq: int = option(
        20,
        "Maximum number of masked tokens per sequence, about max_seq_length * masked_lm_prob. "
        "Training must use the value that the records were made with.",
        minimum=1,
    )
    masking: str = option(
        DEFAULT_RATIOS,
        "Percentages of the tokens to predict that become [MASK], become a random token, or stay "
        "unchanged.",
    )
    do_whole_word_mask: bool = option(False, "Mask whole words instead of single word pieces.")
    next_sentence_prediction: bool = option(
        True,
        "Make pairs of segments, for the task of predicting whether the second one follows the "
        "first. false: single full-length segments.",
    )

    # The ratios are parsed when they are used; a wrong value must be refused before that.
    def check(self) -> None:
        super().check()
        MaskingRatios.parse(self.masking)


@option_class
class PretrainingDataOptions(MaskingOptions, EngineOptions):
    """Pre-training data."""

    masked_lm_prob: float = option(0.15, "Fraction of the tokens to predict.", minimum=0, maximum=1)
    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_file: str = option(
        None,
        "Comma-separated TFRecord files, or NAME@16 for NAME-00000-of-00016 and so on.",
        required=True,
        path=True,
    )
    vocab_file: str = option(None, "Vocabulary file, one token per line.", required=True, path=FILE)
    # The original's README calls it do_lower: its flag parser accepted any unique prefix.
    do_lower_case: bool = option(
        True,
        "Lower-case text and strip accents; false for cased models.",
        aliases=("do_lower",),
    )
    strip_accents: bool | None = option(
        None,
        "Strip accents; false keeps them in lower-cased text.",
        default_text="that beside --vocab_file, else as --do_lower_case",
    )
    max_seq_length: int = option(
        128, "Maximum sequence length, with [CLS] and [SEP].", minimum=5, maximum=1 << 15
    )
    random_seed: int = option(12345, "Seed of all randomness.", maximum=LARGEST_INT64)
    dupe_factor: int | None = option(
        None,
        "Number of passes over the text, each cut and masked differently.",
        minimum=1,
        default_text="10; with --dynamic_masking 1",
    )
    short_seq_prob: float = option(
        0.1, "Fraction of the documents to cut into shorter sequences.", minimum=0, maximum=1
    )
    packed: bool = option(
        False,
        "Pack several sequences into a row of max_seq_length tokens, which leaves almost no "
        "padding. Training gives the same result as with the unpacked sequences.",
    )
    max_sequences_per_row: int | None = option(
        None,
        "Maximum number of sequences per row with --packed.",
        minimum=1,
        maximum=127,
        default_text="max_seq_length / 16, from 2 to 12",
        only_with=("packed",),
    )
    dynamic_masking: bool = option(
        False,
        "Write sequences without masks; run_pretraining.py masks them anew in every epoch.",
    )
    gzip_compress: bool = option(
        False,
        "Compress the records with gzip, under the same names; implied by a name in .gz.",
    )
    resume: bool = option(False, "Resume an interrupted run with the same flags.")
    _without_engine: ClassVar[tuple[str, ...]] = ("num_workers", "part", "resume")

    def check(self) -> None:
        super().check()
        num_files = len(self.output_files()[0])
        machines = self.share.machines
        if machines > num_files:
            raise UserError(
                f"--part={self.part}: {machines} machines can't share {num_files} files: give "
                f"--output_file=NAME@{machines} or more"
            )
        # [CLS] and one [SEP] per segment are never masked.
        num_special_tokens = 3 if self.next_sentence_prediction else 2
        maskable = self.max_seq_length - num_special_tokens
        if self.max_predictions_per_seq > maskable:
            raise UserError(
                f"--max_predictions_per_seq={self.max_predictions_per_seq}: a sequence of "
                f"{self.max_seq_length} has 1 to {maskable} tokens that can be masked"
            )
        if self.dynamic_masking:
            if self.do_whole_word_mask:
                raise UserError(f"--do_whole_word_mask: {_GIVE_IN_TRAINING}")
            if self.masking != DEFAULT_RATIOS:
                raise UserError(f"--masking: {_GIVE_IN_TRAINING}")
        for name in self.output_file.split(","):
            outputs.check_compression(_without_shards(name.strip()), "output_file")
            if files.is_remote(name.strip()) and self.beam_pipeline_options is None:
                raise UserError(
                    f"--output_file: {name.strip()} is not on a local disk, where the work "
                    "directory beside it must be: write the records on a local disk, then copy "
                    "them, or give --beam_pipeline_options"
                )

    @property
    def schema(self) -> Schema:
        """Schema of the records."""
        # Zero predictions stand for dynamic masking, zero sequences per row for unpacked records.
        max_predictions = 0 if self.dynamic_masking else self.max_predictions_per_seq
        if not self.packed:
            max_sequences = 0
        elif self.max_sequences_per_row is None:
            max_sequences = min(max(self.max_seq_length // 16, 2), 12)
        else:
            max_sequences = self.max_sequences_per_row
        return Schema(self.max_seq_length, max_predictions, max_sequences)

    @property
    def is_gzipped(self) -> bool:
        """Whether the records are: --gzip_compress, or a name of --output_file ends in .gz."""
        shards = r"@\d+|-\d+-of-\d+"
        ending = re.search(rf"\.gz({shards})?\s*(,|$)", self.output_file, re.IGNORECASE)
        return self.gzip_compress or ending is not None

    @property
    def passes(self) -> int:
        """Number of passes over the text: --dupe_factor or its default."""
        if self.dupe_factor is not None:
            return self.dupe_factor
        return 1 if self.dynamic_masking else 10

    def generator(self, *key: int) -> np.random.Generator:
        """Returns the random generator for a purpose and a position, which the key identifies."""
        # Seeds may be negative, which numpy does not accept.
        return np.random.default_rng([self.random_seed % 2**64, *key])

    def output_files(self) -> tuple[list[str], str]:
        """Returns (files that --output_file names, name of the statistics file).

        Raises:
          UserError: no name, a name twice, or a wrong number of shards.
        """
        # A comma at the end names nothing.
        names = [name.strip() for name in self.output_file.split(",") if name.strip()]
        paths: list[str] = []
        for name in names:
            sharded = re.fullmatch(r"(.+)@(\d+)", name)
            if not sharded:
                paths.append(name)
                continue
            num_shards = int(sharded[2])
            if not 1 <= num_shards <= _MAX_SHARDS:
                raise UserError(
                    f"--output_file={name}: the number of shards must be between 1 and "
                    f"{_MAX_SHARDS}"
                )
            paths += shard_names(sharded[1], num_shards)
        if not paths:
            raise UserError("--output_file names no file")
        # Different paths may be links to the same file.
        if len({os.path.realpath(path) for path in paths}) < len(paths):
            raise UserError(f"--output_file={self.output_file}: the same file is named twice")
        # All shards share one file of statistics.
        return paths, _without_shards(names[0]) + STATISTICS_SUFFIX


def _without_shards(name: str) -> str:
    """Returns NAME of NAME@16."""
    return re.sub(r"@\d+$", "", name)


@option_class
class DocstringOptions(WorkerOptions):
    """Docstrings of the installed packages."""

    output_file: str = option(
        None, "JSON lines to write, with the fields package and text.", required=True, path=OUTPUT
    )
    packages: tuple[str, ...] = option(
        (), "Top-level packages to read; stdlib is the standard library.", default_text="all"
    )
    min_words: int = option(20, "Minimum number of words of prose in a docstring.", minimum=1)


@option_class
class TriviaQaOptions(Options):
    """TriviaQA as SQuAD data."""

    qa_file: str = option(
        None,
        "Questions and answers, e.g. qa/wikipedia-train.json.",
        required=True,
        path=FILE,
    )
    evidence_dir: str = option(
        None, "Folder of the articles, e.g. evidence/wikipedia.", required=True, path=DIRECTORY
    )
    output_file: str = option(None, "SQuAD file to write.", required=True, path=OUTPUT)
    max_tokens: int = option(
        400, "Number of tokens, separated by white space, to use of each article.", minimum=1
    )
