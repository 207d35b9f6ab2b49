"""Run as a process of its own by test_model_garden.py: importing the Model Garden takes long, and
it brings Keras 2.

  python tests/modeling/checkpoints/model_garden_process.py FOLDER

FOLDER/inputs.npz goes through new models of the Model Garden, each saved as FOLDER/<name>.ckpt, and
through models that were restored from FOLDER/ours-*; the outputs of all are in FOLDER/outputs.npz
as "<name>/<output>".
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf
import tf_keras
from official.nlp.modeling import layers, models, networks

SIZES = dict(
    vocab_size=50,
    hidden_size=12,
    num_layers=2,
    num_attention_heads=3,
    inner_dim=20,
    max_sequence_length=16,
    type_vocab_size=2,
)


def approximate_gelu(x):
    return tf_keras.activations.gelu(x, approximate=True)


def encoder(**sizes):
    network = networks.BertEncoderV2(**SIZES, **sizes)
    network(network.inputs)
    return network


def first_encoder():
    return networks.BertEncoder(**SIZES, activation=approximate_gelu, dict_outputs=True)


def scaffold_encoder():
    """As the Model Garden's first BERT; its layers are numbered from the process's first one on."""
    normal = tf_keras.initializers.TruncatedNormal(0.02)
    return networks.EncoderScaffold(
        num_hidden_instances=2,
        pooled_output_dim=12,
        pooler_layer_initializer=normal,
        embedding_cfg=dict(
            vocab_size=50,
            type_vocab_size=2,
            hidden_size=12,
            max_seq_length=16,
            dropout_rate=0.1,
            initializer=normal,
        ),
        hidden_cls=layers.Transformer,
        hidden_cfg=dict(
            num_attention_heads=3, intermediate_size=20, intermediate_activation=approximate_gelu
        ),
        dict_outputs=True,
    )


def funnel():
    network = networks.FunnelTransformerEncoder(**SIZES, pool_type="truncated_avg")
    network(network.inputs)
    return network


def albert():
    sizes = dict(SIZES, intermediate_size=20, embedding_width=12)
    del sizes["inner_dim"]
    return networks.AlbertEncoder(**sizes)


def pretrainer():
    head = layers.ClassificationHead(inner_dim=12, num_classes=2, name="next_sentence")
    model = models.BertPretrainerV2(
        encoder(), mlm_activation=approximate_gelu, classification_heads=[head]
    )
    model(model.inputs)
    return model


def randomized(model, seed):
    rng = np.random.default_rng(seed)
    for variable in model.variables:
        variable.assign(0.3 * rng.standard_normal(variable.shape))
    return model


def with_slots(model):
    """A checkpoint as its trainer writes it."""
    optimizer = tf_keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    return tf.train.Checkpoint(
        model=model, optimizer=optimizer, global_step=optimizer.iterations, **model.checkpoint_items
    )


def flat(outputs):
    """Outputs of whatever kind by name."""
    if isinstance(outputs, list):
        outputs = dict(zip(("start", "end"), outputs, strict=True))
    if not isinstance(outputs, dict):
        outputs = {"logits": outputs}
    return {name: value for name, value in outputs.items() if name != "encoder_outputs"}


def main(folder):
    inputs = dict(np.load(folder / "inputs.npz"))
    encoder_inputs = {
        name: value for name, value in inputs.items() if name != "masked_lm_positions"
    }
    new = {
        "scaffold_encoder": (scaffold_encoder(), lambda model: tf.train.Checkpoint(encoder=model)),
        "pretrainer": (pretrainer(), lambda model: tf.train.Checkpoint(model=model)),
        "items": (pretrainer(), lambda model: tf.train.Checkpoint(**model.checkpoint_items)),
        "trainer": (pretrainer(), with_slots),
        "encoder": (encoder(), lambda model: tf.train.Checkpoint(encoder=model)),
        "first_encoder": (first_encoder(), lambda model: tf.train.Checkpoint(model=model)),
        "classification": (
            models.BertClassifier(encoder(), num_classes=3),
            lambda model: tf.train.Checkpoint(model=model),
        ),
        "classification_with_pooler": (
            models.BertClassifier(
                encoder(), num_classes=3, use_encoder_pooler=False, dropout_rate=0.0
            ),
            lambda model: tf.train.Checkpoint(model=model, **model.checkpoint_items),
        ),
        "question_answering": (
            models.BertSpanLabeler(encoder()),
            lambda model: tf.train.Checkpoint(model=model),
        ),
        "token_classification": (
            models.BertTokenClassifier(encoder(), num_classes=5),
            lambda model: tf.train.Checkpoint(model=model),
        ),
    }
    outputs = {}

    def run(name, model):
        takes = inputs if "pretrainer" in type(model).__name__.lower() else encoder_inputs
        outputs.update(
            {f"{name}/{output}": np.asarray(value) for output, value in flat(model(takes)).items()}
        )

    for seed, (name, (model, checkpoint)) in enumerate(new.items()):
        run(name, randomized(model, seed))
        checkpoint(model).write(str(folder / f"{name}.ckpt"))
    for model in (funnel(), albert()):
        tf.train.Checkpoint(encoder=model).write(str(folder / f"{type(model).__name__}.ckpt"))
    tf.train.Checkpoint(encoder=encoder(embedding_width=6)).write(str(folder / "factorized.ckpt"))

    # Everything in these models must be in the checkpoint: assert_existing_objects_matched.
    ways = {
        "pretraining": [
            pretrainer,
            lambda model: tf.train.Checkpoint(model=model),
            lambda model: tf.train.Checkpoint(**model.checkpoint_items),
        ],
        "encoder": [encoder, lambda model: tf.train.Checkpoint(encoder=model)],
        "first_encoder": [first_encoder, lambda model: tf.train.Checkpoint(encoder=model)],
        "classification": [
            lambda: models.BertClassifier(encoder(), num_classes=3),
            lambda model: tf.train.Checkpoint(model=model),
        ],
        "question_answering": [
            lambda: models.BertSpanLabeler(encoder()),
            lambda model: tf.train.Checkpoint(model=model),
        ],
        "token_classification": [
            lambda: models.BertTokenClassifier(encoder(), num_classes=5),
            lambda model: tf.train.Checkpoint(model=model),
        ],
    }
    for name, (make, *checkpoints) in ways.items():
        for number, checkpoint in enumerate(checkpoints):
            model = make()
            prefix = str(folder / f"ours-{name.removeprefix('first_')}/bert_model.ckpt")
            checkpoint(model).restore(prefix).assert_existing_objects_matched().expect_partial()
            run(f"ours-{name}-{number}", model)
    np.savez(folder / "outputs.npz", **outputs)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
