"""Size and latency of exported models beside transformers, in one run.

  python benchmarks/serving.py                                   # 6 layers of 384 units, random
  weights python benchmarks/serving.py --init_checkpoint=hf_directory
  python benchmarks/serving.py --size=base --tokens=16,64,128,384
  --programs=export,onnx_int8,transformers

Every program returns one vector for each text, the mean over its tokens:

  export                 the SavedModel of export_model.py --task=features: strings in, tokenizer in
  the graph onnx, onnx_int8        --format=onnx, with --quantize=int8, in onnxruntime, with
  tokenizer.json in tokenizers transformers           AutoTokenizer and AutoModel on PyTorch, padded
  to the longest (pip install --group peers)

A process for each, taking turns, one request a turn.
"""

import dataclasses
import itertools
import os
import random
import statistics
import tempfile
from collections.abc import Callable

from benchmarks import interleaved
from bert_common import cli
from bert_common.options import option
from data_gen.tokenization.vocabulary import Vocabulary

_WARM_UP, _TEXTS = 10, 256
_DEFAULT_PROGRAMS = ("export", "transformers")
_PROGRAMS = (*_DEFAULT_PROGRAMS, "onnx", "onnx_int8")
# Program → how its model is exported.
_EXPORTS = {
    "export": {},
    "onnx": {"format": "onnx"},
    "onnx_int8": {"format": "onnx", "quantize": "int8"},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServingOptions(interleaved.VocabularyOptions, interleaved.TurnsOptions):
    """Options of the benchmark."""

    init_checkpoint: str | None = option(
        None, "The checkpoint.", default_text="random weights of --size"
    )
    size: str = option(
        "L6-H384", "L<layers>-H<hidden>, base or large: of the model with random weights."
    )
    max_seq_length: int = option(128, "Most tokens of a text, for all programs.", minimum=3)
    batch_size: tuple[int, ...] = option((1, 32), "Texts of a request.", minimum=1)
    tokens: tuple[int, ...] = option(
        (16, 128), "Tokens of a text, a table of results for each.", minimum=3
    )
    repetitions: int = option(100, "Requests to each program.", minimum=1)
    programs: tuple[str, ...] = option(_DEFAULT_PROGRAMS, "What is measured.", choices=_PROGRAMS)


def main(options: ServingOptions) -> None:
    words = [
        word
        for word in Vocabulary.from_file(options.vocab_file).tokens
        if word.isascii() and word.isalpha() and word.islower()
    ]
    rng, count = random.Random(0), options.repetitions
    with tempfile.TemporaryDirectory() as directory:
        _export(options, directory)
        for length in options.tokens:
            # [CLS] and [SEP] are tokens, too.
            lines = [" ".join(rng.choices(words, k=length - 2)) for _ in range(_TEXTS)]
            for size in options.batch_size:
                print(
                    f"\n{size} of {_TEXTS} texts of {length} tokens in a request, {count} requests to each program"
                )
                seconds = interleaved.take_turns(
                    options, options.programs, count, _build, options, directory, lines, size
                )
                milliseconds = {
                    name: sorted(1e3 * turn for turn in turns) for name, turns in seconds.items()
                }
                interleaved.print_rates(
                    seconds,
                    [size] * count,
                    "texts",
                    {
                        "median ms": (
                            "{:.1f}",
                            {
                                name: statistics.median(turns)
                                for name, turns in milliseconds.items()
                            },
                        ),
                        "90 % below": (
                            "{:.1f}",
                            {name: turns[int(0.9 * count)] for name, turns in milliseconds.items()},
                        ),
                    },
                )


def _export(options: ServingOptions, directory: str) -> None:
    """Exports the model for its vectors, and converts it for the peers."""
    from bert_tf.inference.export import export
    from bert_tf.inference.options import ExportOptions
    from modeling import BertForPreTraining
    from modeling.checkpoints.convert import convert

    native = os.path.join(directory, "native")
    if options.init_checkpoint:
        convert(options.init_checkpoint, "native", native)
    else:
        config = interleaved.find_config(
            options.size, Vocabulary.from_file(options.vocab_file).size
        )
        BertForPreTraining(config).save_checkpoint(
            native, vocab_file=options.vocab_file, do_lower_case=True
        )
    if "transformers" in options.programs:
        convert(native, "huggingface", os.path.join(directory, "transformers"))
    print(f"{'export':12} {'MB':>7}")
    for name, given in _EXPORTS.items():
        if name in options.programs:
            path = os.path.join(directory, name)
            size = export(
                ExportOptions(
                    init_checkpoint=native,
                    export_dir=path,
                    task="features",
                    max_seq_length=options.max_seq_length,
                    **given,
                )
            ).size
            print(f"{name:12} {size / 1e6:7.1f}")


def _build(
    options: ServingOptions, directory: str, lines: list[str], size: int, program: str
) -> Callable[[], None]:
    """A request to the program, which has answered some: another one in every turn."""
    requests = [lines[start : start + size] for start in range(0, len(lines) - size + 1, size)]
    make = {"export": _exported, "transformers": _transformers}.get(program, _onnx)
    vectors_of = make(options, os.path.join(directory, program))
    for request in requests[-_WARM_UP:]:
        vectors_of(request)
    turns = itertools.cycle(requests)
    return lambda: vectors_of(next(turns))


def _exported(options: ServingOptions, path: str):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 (its operations)

    function = tf.saved_model.load(path).signatures["serving_default"]
    return lambda request: function(text=tf.constant(request))["mean_output"].numpy()


def _onnx(options: ServingOptions, path: str):
    import numpy as np
    import onnxruntime
    import tokenizers

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads or 0
    session = onnxruntime.InferenceSession(os.path.join(path, "model.onnx"), settings)
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
    fields = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

    def vectors_of(request):
        rows = tokenizer.encode_batch(request)
        return session.run(
            ["sentence_embedding"],
            {
                name: np.array([getattr(row, field) for row in rows])
                for name, field in fields.items()
            },
        )[0]

    return vectors_of


def _transformers(options: ServingOptions, path: str):
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    config = transformers.AutoConfig.from_pretrained(path)
    # The same function as one kernel.
    config.hidden_act = config.hidden_act.replace("gelu_new", "gelu_pytorch_tanh")
    model = transformers.AutoModel.from_pretrained(path, config=config).eval()

    def vectors_of(request):
        batch = tokenizer(
            request,
            padding=True,
            truncation=True,
            max_length=options.max_seq_length,
            return_tensors="pt",
        )
        with torch.inference_mode():
            weights = batch["attention_mask"][:, :, None].float()
            return ((model(**batch).last_hidden_state * weights).sum(1) / weights.sum(1)).numpy()

    return vectors_of


if __name__ == "__main__":
    cli.run(ServingOptions, main)
