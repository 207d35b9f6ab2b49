import pytest

from bert_tf.common.errors import UserError
from bert_tf.inference.options import ExtractOptions, PredictOptions


@pytest.mark.parametrize("make", [PredictOptions, ExtractOptions])
@pytest.mark.parametrize("output, message", [
    ("lines.txt", "is also --input_file, which would be lost"), ("words.txt", "is also --vocab_file"),
    ("run/ckpt-1.index", "is a part of a checkpoint, which would be lost"),
    ("run/ckpt-1.data-00000-of-00001", "is a part of a checkpoint"), ("run/model.safetensors", "is a part of"),
    ("run/vocab.txt", "is a part of"), ("run/task.json", "is a part of"), ("run", "is a directory")])
def test_an_output_that_would_destroy_something_is_refused(tmp_path, make, output, message):
  (tmp_path / "run").mkdir()
  for name in ("lines.txt", "words.txt", "run/ckpt-1.index", "run/ckpt-1.data-00000-of-00001", "run/model.safetensors",
               "run/vocab.txt", "run/task.json", "run/predictions.jsonl"):
    (tmp_path / name).touch()
  options = make(init_checkpoint=f"{tmp_path}/run", input_file=f"{tmp_path}/lines.txt",
                 output_file=f"{tmp_path}/run/predictions.jsonl", vocab_file=f"{tmp_path}/words.txt")
  options.check()
  with pytest.raises(UserError, match=f"--output_file: .*{output} {message}"):
    options.replace(output_file=f"{tmp_path}/{output}").check()
