"""The flags that all fine-tuning scripts share, names and defaults of the original's. A script adopts them:

    from common import fine_tuning_flags
    flags.adopt_module_key_flags(fine_tuning_flags)
"""

from absl import flags

from common import cli, run_flags

FLAGS = flags.FLAGS

flags.DEFINE_string("output_dir", None, "Directory of the run: checkpoints, results, TensorBoard.")
flags.DEFINE_string("init_checkpoint", None, "Weights to start from: a run directory, one of its ckpt-N prefixes, an "
                    "original bert_model.ckpt, a Hugging Face directory or .safetensors file, or a checkpoint of the "
                    "Model Garden.")
flags.DEFINE_string("bert_config_file", None, "The network's shape, bert_config.json. Found beside --init_checkpoint.")
flags.DEFINE_string("vocab_file", None, "The vocabulary, vocab.txt. Found beside --init_checkpoint.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary. Found beside --init_checkpoint, else true.")
flags.DEFINE_bool("do_train", False, "Train.")
flags.DEFINE_bool("do_predict", False, "Predict.")
flags.DEFINE_integer("predict_batch_size", 8, "Examples of a batch of predictions, on all devices together. Where it "
                     "is not given, 64: the predictions do not depend on it.")
flags.DEFINE_float("warmup_proportion", 0.1, "Share of the training over which the learning rate rises.")
flags.DEFINE_integer("eval_steps", None, "Steps between evaluations while training; 0 for none. Where it is not given, "
                     "an epoch.")
flags.DEFINE_bool("pad_to_max_length", False, "Pad every batch to --max_seq_length, and not only to the length of its "
                  "longest sequence. Always so on TPUs.")
flags.adopt_module_key_flags(run_flags)


def options() -> dict[str, object]:
  """The flags as keyword arguments of `FineTuningOptions`.

  Raises:
    UserError: they contradict each other.
  """
  same = ("output_dir", "init_checkpoint", "bert_config_file", "vocab_file", "do_lower_case", "do_train", "do_predict",
          "warmup_proportion", "eval_steps", "pad_to_max_length")
  given = cli.given_flags()
  return {
      **run_flags.options(),
      **{name: getattr(FLAGS, name) for name in same},
      "predict_batch_size": FLAGS.predict_batch_size if "predict_batch_size" in given else 64,
      "keep_checkpoint_max": FLAGS.keep_checkpoint_max if "keep_checkpoint_max" in given else 1,
  }
