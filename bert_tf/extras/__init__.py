"""Formats, clients and trackers that a user asks for by name, and that no run needs.

The core never imports a module of this package. It names them in tables of plug-ins
(`bert_common/plugins.py`), and imports the one that is asked for; without this package everything
else works.

- adaptation.py, adaptation_plan.py: further pre-training on documents, and a verdict (adapt.py)
- add_words.py: words of a text for a vocabulary, `python -m bert_tf.extras.add_words`
- compare.py: differences of several runs, `python -m bert_tf.extras.compare`
- keras_hub.py: checkpoints of KerasHub, read (the table in modeling/checkpoints/load.py)
- search.py, search_index.py: nearest documents by their vectors, `python -m bert_tf.extras.search`
- teachers.py: trained models whose outputs a smaller one learns (`TEACHERS` in
  bert_tf/runs/options.py)
- text_loss.py: loss of hidden words by document, `python -m bert_tf.extras.text_loss`
- tokenizer_check.py: a published tokenizer against the library `tokenizers` (the table in
  modeling/checkpoints/load.py)
- trackers.py: MLflow, Weights & Biases (the table in bert_tf/runs/options.py)

Formats of exports (`FORMATS` in bert_tf/inference/options.py):

- hub.py: one directory for transformers, sentence-transformers, transformers.js and others
- onnx_format.py: token ids → outputs, for onnxruntime, OpenVINO and others
- onnx_graph.py: a BERT as an ONNX graph, written from its weights
- litert_format.py: token ids of one length → outputs, for LiteRT
- token_id_formats.py: parts that these share: names, tokenizer and labels beside the model, scores
  of an export
- tfhub.py: a preprocessor and an encoder with TF-Hub's names
"""
