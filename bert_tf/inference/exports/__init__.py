"""Ways of writing a trained model for others, and what checks them all.

    formats.py        what a format is
    saved_model.py    strings → outputs, for TensorFlow
    tfhub.py          a preprocessor and an encoder with TF-Hub's names
    warmup.py         requests that TensorFlow Serving answers itself when it loads an export
    onnx_format.py    token ids → outputs and a `tokenizer.json`, for onnxruntime, OpenVINO and others
    onnx_graph.py     a BERT as an ONNX graph, written from its weights
    litert.py         token ids of one length → outputs, for LiteRT
    clients.py        names, tokenizer and labels beside models of token ids
    score_loss.py     what quantization costs, on a development set
    loaders.py        exports as their runtimes see them
    loading_back.py   the process that loads an export and is asked what the model was asked
"""

# --format, or tfhub of --api → module, which has a class `Format`; how it is loaded back stands in `loaders.LOADERS`.
FORMATS = {"saved_model": "bert_tf.inference.exports.saved_model", "tfhub": "bert_tf.inference.exports.tfhub",
           "onnx": "bert_tf.inference.exports.onnx_format", "litert": "bert_tf.inference.exports.litert"}
