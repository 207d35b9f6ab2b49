"""Measures the predictions of question answering in windows per second, beside PyTorch, in one run.

  python benchmarks/question_answering.py --predict_file=dev-v1.1.json
  python benchmarks/question_answering.py --predict_file=dev-v1.1.json --threads=1 --clock=cpu

The same model (6 layers, 384 units, random weights) computes the same windows of at most 384
tokens of the file's first questions, on the CPU in float32. Compared: this project's prediction, as
in `run_squad.py --do_predict`, and Hugging Face's BertForQuestionAnswering in inference mode (pip
install --group peers), its windows sorted by length and each batch padded to its longest. Reading,
windows and answers are not counted.
"""

import dataclasses
import os
from collections.abc import Callable

from benchmarks import interleaved
from bert_common import cli
from bert_common.options import option, option_class
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary

_PROGRAMS = ("ours", "pytorch")


@option_class
class QuestionAnsweringOptions(interleaved.VocabularyOptions, interleaved.TurnsOptions):
    """Options of the benchmark."""

    predict_file: str = option(None, "SQuAD file with the questions.", required=True)
    num_questions: int = option(100, "Questions to use, from the first.", minimum=1)
    size: str = option("L6-H384", "Model size: L<layers>-H<hidden>, base or large.")
    predict_batch_size: int = option(32, "Windows per batch.", minimum=1)
    repetitions: int = option(7, "Turns of each program.", minimum=1)
    programs: tuple[str, ...] = option(_PROGRAMS, "Programs to measure.", choices=_PROGRAMS)


def main(options: QuestionAnsweringOptions) -> None:
    # Hides GPUs from TensorFlow and PyTorch.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    vocab_size = Vocabulary.from_file(options.vocab_file).size
    config = interleaved.find_config(options.size, vocab_size)
    lengths = _windows(options).row_lengths
    seconds = interleaved.take_turns(
        options, options.programs, options.repetitions, _build, options, config
    )
    print(
        f"{options.size}, batch {options.predict_batch_size}, {len(lengths)} windows of "
        f"{lengths.mean():.1f} tokens (longest {lengths.max()}); {options.repetitions} turns"
    )
    interleaved.print_rates(seconds, [len(lengths)] * options.repetitions, "windows")
    options.record("question answering", f"{options.size}, float32", seconds)


def _windows(options: QuestionAnsweringOptions):
    """Returns the `Examples` of the questions."""
    from bert_tf.tasks.question_answering.data import make_split
    from bert_tf.tasks.question_answering.options import SquadConfig
    from data_gen.labeled.squad import read_squad

    data = read_squad(options.predict_file, "predict_file")
    first = dataclasses.replace(data, questions=data.questions[: options.num_questions])
    return make_split(first, SquadConfig(), Tokenizer.from_file(options.vocab_file, True)).examples


def _build(options: QuestionAnsweringOptions, config, name: str) -> Callable[[], None]:
    """Returns a function that predicts with one of the programs, which has done so once."""
    arguments = (config, _windows(options), options.predict_batch_size)
    if name == "ours":
        from benchmarks import tensorflow_programs

        predict = tensorflow_programs.question_answering(*arguments)
    else:
        from benchmarks import pytorch_peers

        predict = pytorch_peers.question_answering(*arguments)
    predict()
    return predict


if __name__ == "__main__":
    cli.run(QuestionAnsweringOptions, main)
