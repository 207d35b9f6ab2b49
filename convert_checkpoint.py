"""Converts checkpoints between this project, the original BERT, Hugging Face and the Model Garden.

  python convert_checkpoint.py --input=uncased_L-12_H-768_A-12 --output=bert-base \\
      --output_format=huggingface
  python convert_checkpoint.py --input=out/ckpt-1000 --output=for_tf1 --output_format=original
  python convert_checkpoint.py --input=hf_directory --output=bert --output_format=native

The input is a directory, a prefix or a .safetensors file of any of these formats. The output is
read back and compared bit for bit before it appears. The optimizer's state and the step are
converted with --optimizer_state only, between native and original.
"""

from bert_common import cli
from modeling.checkpoints.convert import ConvertOptions

if __name__ == "__main__":
    cli.run(ConvertOptions, "bert_tf.inference.conversion:run")
