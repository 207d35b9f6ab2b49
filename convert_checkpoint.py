"""Converts checkpoints between this project, the original BERT, Hugging Face and the Model Garden.

  python convert_checkpoint.py --input=uncased_L-12_H-768_A-12 --output_format=huggingface
  --output=bert-base python convert_checkpoint.py --input=out/ckpt-1000 --output_format=original
  --output=for_tf1 python convert_checkpoint.py --input=hf_directory --output_format=native
  --output=bert

The input is a directory, a prefix or a .safetensors file; its format is found by looking at it. The
output is read back and compared bit for bit before it appears. Not carried: the optimizer's state
and the step.
"""

from bert_common import cli
from modeling.checkpoints.convert import ConvertOptions

if __name__ == "__main__":
    cli.run(ConvertOptions, "bert_tf.inference.conversion:run")
