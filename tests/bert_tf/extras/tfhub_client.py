"""What TensorFlow's tutorials do with a preprocessor and an encoder of TF-Hub, as a process: it
brings Keras 2.

    python tfhub_client.py EXPORT_DIR WORK < texts.json
    python tfhub_client.py --model_garden CHECKPOINT WORK < texts.json >
    tests/golden/tfhub/answers.json

The first does what "Classify text with BERT", "Solve GLUE tasks using BERT on TPU" and "BERT
Preprocessing with TF Text" do. The second has the Model Garden export a checkpoint with its own
program, and asks that export what the first asks ours. Both print JSON.
"""

import json
import os
import pathlib
import re
import sys

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text  # noqa: F401  (its operations are in the graphs)
import tf_keras
from official.nlp import optimization

OURS, WORK = sys.argv[-2:]


def export_by_model_garden(checkpoint):
    """The Model Garden's export of a checkpoint with a vocabulary, in WORK."""
    from official.legacy.bert import configs
    from official.nlp.tools import export_tfhub_lib

    vocab_file = os.path.join(checkpoint, "vocab.txt")
    export_tfhub_lib.export_model(
        os.path.join(WORK, "encoder"),
        bert_config=configs.BertConfig.from_json_file(f"{checkpoint}/bert_config.json"),
        model_checkpoint_path=f"{checkpoint}/bert_model.ckpt",
        vocab_file=vocab_file,
        do_lower_case=True,
    )
    export_tfhub_lib.export_preprocessing(
        os.path.join(WORK, "preprocess"),
        vocab_file=vocab_file,
        do_lower_case=True,
        default_seq_length=12,
    )


def plain(value):
    """Tensors as lists; numbers with the digits that two programs have in common."""
    if isinstance(value, tf.RaggedTensor):
        return value.to_list()
    return tf.nest.map_structure(lambda one: np.round(one.numpy(), 5).tolist(), value)


def described(value):
    """Types and what is known of shapes."""
    return tf.nest.map_structure(
        lambda one: [type(one).__name__, one.dtype.name, str(one.shape)],
        value,
        expand_composites=False,
    )


def interface(directory, texts):
    """What the two models answer, and the shapes that are known in a graph."""
    preprocess, encoder = (
        hub.load(os.path.join(directory, part)) for part in ("preprocess", "encoder")
    )
    tokens = preprocess.tokenize(tf.constant(texts))
    once, twice = (
        preprocess(texts),
        preprocess.bert_pack_inputs([tokens, tokens[:, ::-1]], seq_length=10),
    )
    flat = preprocess.bert_pack_inputs([tokens.merge_dims(1, 2)], tf.constant(9))
    shapes = {}

    @tf.function(input_signature=[tf.TensorSpec([3], tf.string)])
    def trace(sentences):
        pieces = preprocess.tokenize(sentences)
        ids = preprocess.bert_pack_inputs([pieces, pieces], seq_length=7)
        shapes.update(
            tokenize=described(pieces),
            pack=described(ids),
            preprocess=described(preprocess(sentences)),
            encoder=described(encoder(ids)),
        )
        return 0

    trace.get_concrete_function()
    with tf.io.gfile.GFile(encoder.vocab_file.asset_path.numpy()) as file:
        vocabulary = file.read()
    return {
        "preprocess": plain(once),
        "pack": plain(twice),
        "flat": plain(flat),
        "default pack": plain(preprocess.bert_pack_inputs([tokens])),
        "tokenize": plain(tokens),
        "special": plain(preprocess.tokenize.get_special_tokens_dict()),
        "encoder": plain(encoder(twice)),
        "shapes": shapes,
        "trainable": sorted(int(np.prod(one.shape)) for one in encoder.trainable_variables),
        "losses": len(encoder.regularization_losses),
        "do_lower_case": bool(encoder.do_lower_case.numpy()),
        "vocabulary": vocabulary,
        "vocabulary's name": os.path.basename(encoder.vocab_file.asset_path.numpy().decode()),
    }


def classify(model, texts):
    """Fine-tunes a classifier of strings, that of the documentation, saves it and loads it
    again."""
    preprocessing, layer = (one for one in model.layers if isinstance(one, hub.KerasLayer))
    labels = np.float32([len(one) % 2 for one in texts])
    data = tf.data.Dataset.from_tensor_slices((texts, labels)).repeat(4).batch(8)
    optimizer = optimization.create_optimizer(
        init_lr=3e-3, num_train_steps=40, num_warmup_steps=2, optimizer_type="adamw"
    )
    before = [value.numpy() for value in layer.trainable_variables]
    model.compile(optimizer, tf_keras.losses.BinaryCrossentropy(from_logits=True))
    losses = [model.evaluate(data, verbose=0)]
    model.fit(data, epochs=10, verbose=0)
    losses.append(model.evaluate(data, verbose=0))
    changed = [
        bool(np.any(old != new.numpy()))
        for old, new in zip(before, layer.trainable_variables, strict=True)
    ]
    decays = [
        value.name
        for value in model.trainable_variables
        if optimizer._do_use_weight_decay(value.name)
    ]
    model.save(os.path.join(WORK, "classifier"), include_optimizer=False)
    again = tf.saved_model.load(os.path.join(WORK, "classifier"))
    ids = preprocessing(tf.constant(texts))
    dropped = [
        float(
            tf.math.reduce_std(
                tf.stack([layer(ids, training=training)["pooled_output"] for _ in range(4)]), 0
            )[0, 0]
        )
        for training in (False, True)
    ]
    return {
        "losses": losses,
        "changed": changed,
        "decays": decays,
        "dropped": dropped,
        "difference": float(
            tf.reduce_max(tf.abs(again(tf.constant(texts)) - model(tf.constant(texts))))
        ),
        "shapes": [str(layer.output[name].shape) for name in ("sequence_output", "pooled_output")],
    }


def documentation():
    """Runs the programs of docs/exports.md; returns how many there are, and the names that they
    have defined."""
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/exports.md").read_text("utf-8")
    page = page.split("\n## TF-Hub\n")[1].split("\n## ")[0]
    programs = re.findall("```python\n(.*?)```", page, re.DOTALL)
    os.symlink(os.path.abspath(OURS), os.path.join(WORK, "hub"))
    os.chdir(WORK)
    names = {}
    for program in programs:
        exec(compile(program, "docs/exports.md", "exec"), names)
    return len(programs), names


asked = json.load(sys.stdin)
if "--model_garden" in sys.argv:
    export_by_model_garden(OURS)
    found = interface(WORK, asked)
else:
    answers = interface(OURS, asked)
    count, made = documentation()
    found = {"interface": answers, "classify": classify(made["model"], asked), "programs": count}
print(json.dumps(found))
