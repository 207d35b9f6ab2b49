"""The programs that a TPU would get, traced without one: `python tpu_program.py FOLDER [HLO]`.

`TPUStrategy` takes the description of a TPU from its resolver. With a made-up one, and logical CPUs
in place of the cores, variables can be made and functions traced; they can't be run. The run
functions of the scripts go as far as their first step, and then as far as the first batch of an
evaluation, which for the fine-tuning tasks is a prediction. What a TPU would ask about each program
goes to `facts.json` in FOLDER, and the step of pre-training as it runs on a core to HLO.
"""

import collections
import json
import pathlib
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.tpu.tpu_system_metadata import TPUSystemMetadata

from bert_tf.runs.trainer import Trainer
from bert_tf.tasks.classification.task import run as run_classifier
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.multiple_choice.task import run as run_swag
from bert_tf.tasks.pretraining.task import run as run_pretraining
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.question_answering.task import run as run_squad
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.tasks.sentence_embedding.task import run as run_sentence_embedding
from bert_tf.tasks.token_classification.feature_based import run as run_ner
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.training import devices
from bert_tf.training.prediction import EvaluationPass, Prediction
from bert_tf.training.step import TrainingStep
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.pretraining.schema import Schema
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from tests.bert_tf.tasks.classification import toy_task
from tests.bert_tf.tasks.multiple_choice import toy_questions
from tests.bert_tf.tasks.pretraining.conftest import make_options
from tests.bert_tf.tasks.question_answering import toy_squad
from tests.bert_tf.tasks.sentence_embedding import toy_pairs
from tests.bert_tf.tasks.token_classification import toy_names
from tests.bert_tf.training.common import (
    LENGTH,
    ONE_LAYER,
    PREDICTIONS,
    VOCAB,
    write_records,
)
from tests.bert_tf.training.packed import sequences_of
from tests.bert_tf.training.tpu_compiler import CLUSTER, GATES, INPUT, graphs_of, write_replica

# The first steps that were traced.
_STEPS: list = []


class MadeUpTpu:
    """The resolver of a TPU that is not there."""

    def __init__(self, cores: int, hosts: int):
        self._cores, self._hosts = cores, hosts

    def get_tpu_system_metadata(self) -> TPUSystemMetadata:
        names = [
            f"/job:localhost/replica:0/task:0/device:TPU:{core}" for core in range(self._cores)
        ]
        found = [tf.config.LogicalDevice(name, "TPU") for name in names]
        return TPUSystemMetadata(
            num_cores=self._cores,
            num_hosts=self._hosts,
            num_of_cores_per_host=self._cores // self._hosts,
            topology=None,
            devices=found,
        )


def made_up_strategy(cores: int, hosts: int) -> tf.distribute.TPUStrategy:
    strategy = tf.distribute.TPUStrategy(MadeUpTpu(cores, hosts))
    extended = strategy.extended
    for row in extended._tpu_devices:
        row[0] = row[0].replace("TPU", "CPU")
    workers = extended._device_input_worker_devices
    for host, names in workers.items():
        workers[host] = [name.replace("TPU", "CPU") for name in names]
    return strategy


def operations(function) -> list[tf.Operation]:
    """All operations of a traced function and of the functions that it calls."""
    return [one for graph in graphs_of(function) for one in graph.get_operations()]


def facts_of(function) -> dict:
    """What a TPU would refuse in a program."""
    inside = [one for one in operations(function) if CLUSTER in one.node_def.attr]
    ungated, strings, dynamic = [], [], []
    for one in inside:
        if one.type in GATES:
            continue
        for value in one.inputs:
            source = value.op
            if CLUSTER not in source.node_def.attr and source.type not in GATES:
                ungated.append(f"{source.name} -> {one.name}")
        for value in one.outputs:
            if value.dtype == tf.string:
                strings.append(one.name)
            if not value.shape.is_fully_defined():
                dynamic.append(f"{one.name} {value.shape}")
    kinds = collections.Counter(one.type for one in operations(function))
    return {
        "inside": len(inside),
        "gates": kinds[INPUT],
        "ungated": ungated,
        "strings": strings,
        "dynamic": dynamic,
    }


class Traced(Exception):
    """A run has come to its first step, or to the first batch of an evaluation."""


def first_step(training_step: TrainingStep, iterator, steps: int) -> None:
    """Takes the place of `TrainingStep.run`."""
    _STEPS.append(training_step._run_steps.get_concrete_function(iterator, steps))
    raise Traced(facts_of(_STEPS[-1]))


def stop_at_first_batch(kind: type, name: str) -> None:
    """Lets the objects of a class trace their function `name` of an iterator in place of a call."""
    initialize = kind.__init__

    def initialize_and_replace(self, *arguments, **options):
        initialize(self, *arguments, **options)
        function = getattr(self, name)

        def trace(iterator):
            raise Traced(facts_of(function.get_concrete_function(iterator)))

        setattr(self, name, trace)

    kind.__init__ = initialize_and_replace


def stop_before_training_and_evaluation() -> None:
    """Lets runs end with the facts about their first step and their first batch of an evaluation."""
    TrainingStep.run = first_step
    stop_at_first_batch(EvaluationPass, "_next_sums")
    stop_at_first_batch(Prediction, "_next_outputs")
    train = Trainer.train

    def train_and_evaluate(trainer: Trainer) -> None:
        found = {}
        for part, call in (("step", train), ("evaluation", Trainer.evaluate)):
            try:
                call(trainer)
            except Traced as traced:
                found[part] = traced.args[0]
        raise Traced(found)

    Trainer.train = train_and_evaluate


def python_calls(dataset: tf.data.Dataset) -> list[str]:
    """The operations of an input pipeline that call Python."""
    graph = tf.compat.v1.GraphDef.FromString(dataset._as_serialized_graph().numpy())
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    return [node.name for node in nodes if "PyFunc" in node.op]


def facts_of_run(run, options, cores: int = 4, hosts: int = 1) -> dict:
    """The facts about the programs of a run, and about its input pipelines."""
    strategy = made_up_strategy(cores, hosts)
    devices._tpu_strategy = lambda *arguments: strategy
    datasets = []
    distribute = strategy.distribute_datasets_from_function

    def noted(make):
        context = tf.distribute.InputContext(1, 0, strategy.num_replicas_in_sync)
        datasets.append(make(context))
        return distribute(make)

    strategy.distribute_datasets_from_function = noted
    try:
        run(options)
    except Traced as traced:
        return {
            **traced.args[0],
            "python": [name for one in datasets for name in python_calls(one)],
        }
    raise AssertionError("the run ended before its first step")


def write_unmasked(path: pathlib.Path) -> None:
    lengths = np.random.default_rng(3).integers(5, LENGTH + 1, 24)
    features = sequences_of(lengths, LENGTH, PREDICTIONS, VOCAB)
    schema = Schema(LENGTH, 0)
    features = {name: features[name] for name in schema.features}
    path.write_bytes(RecordWriter(schema, VOCAB).encode(features))


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    cpus = [tf.config.LogicalDeviceConfiguration()] * 8
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
    stop_before_training_and_evaluation()
    tpu = {"tpu_name": "local", "do_train": True, "train_batch_size": 16, "report_to": ()}
    facts = {}

    data = folder / "records"
    data.mkdir()
    write_unmasked(data / "train-0.tfrecord")
    ONE_LAYER.to_file(str(data / "bert_config.json"))
    words = [*SPECIAL_TOKENS, *(f"##word{number}" for number in range(VOCAB - 5))]
    (data / "vocab.txt").write_text("\n".join(words) + "\n")
    facts["pretraining"] = facts_of_run(
        run_pretraining,
        make_options(
            data,
            folder / "pretraining",
            **tpu,
            jit_compile="auto",
            vocab_file=f"{data}/vocab.txt",
            do_whole_word_mask=True,
            gradient_accumulation_steps=2,
            eval_file=write_records(data / "dev.tfrecord", 11),
        ),
        cores=8,
        hosts=2,
    )
    if len(sys.argv) > 2:
        write_replica(_STEPS[0], pathlib.Path(sys.argv[2]))

    data = folder / "table"
    data.mkdir()
    toy_task.write_model(data)
    toy_task.write_csv(data / "train.csv", 64, 1)
    toy_task.write_csv(data / "dev.csv", 16, 2)
    options = toy_task.own_task(data, folder / "classifier", **tpu, test_file=None)
    facts["classifier"] = facts_of_run(run_classifier, options)

    data = folder / "choices"
    data.mkdir()
    toy_questions.write_model(data)
    toy_questions.write_swag(data / "train.csv", 48)
    toy_questions.write_swag(data / "val.csv", 16)
    tiny = {**tpu, "bert_config_file": f"{data}/bert_config.json", "max_seq_length": 24}
    options = MultipleChoiceOptions(data_dir=str(data), output_dir=str(folder / "swag"), **tiny)
    facts["choices"] = facts_of_run(run_swag, options)

    data = folder / "tags"
    data.mkdir()
    toy_names.write_model(data)
    for name in ("train", "testa"):
        toy_names.write_conll(data / f"eng.{name}", toy_names.make_documents(12, 1))
    tiny["bert_config_file"] = f"{data}/bert_config.json"
    options = TokenClassificationOptions(
        data_dir=str(data), output_dir=str(folder / "ner"), **{**tiny, "max_seq_length": 40}
    )
    facts["tags"] = facts_of_run(run_ner, options)

    data = folder / "answers"
    data.mkdir()
    toy_squad.write_model(data)
    tiny["bert_config_file"] = f"{data}/bert_config.json"
    options = SquadOptions(
        train_file=toy_squad.write_json(data / "train.json", toy_squad.toy_questions(20, 1)),
        predict_file=toy_squad.write_json(data / "dev.json", toy_squad.toy_questions(5, 2)),
        output_dir=str(folder / "squad"),
        given=frozenset(toy_squad.LENGTHS),
        **{**tiny, **toy_squad.LENGTHS},
    )
    facts["answers"] = facts_of_run(run_squad, options)

    data = folder / "sentences"
    data.mkdir()
    toy_pairs.write_model(data)
    tiny["bert_config_file"] = f"{data}/bert_config.json"
    options = SentenceEmbeddingOptions(
        train_file=toy_pairs.write_columns(data / "train.csv", 40, 1),
        dev_task_name="scored",
        dev_file=toy_pairs.write_columns(data / "dev.jsonl", 20, 2),
        output_dir=str(folder / "vectors"),
        **tiny,
    )
    facts["sentences"] = facts_of_run(run_sentence_embedding, options)
    (folder / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
