"""Names of flags in other programs → those here, for the message about an unknown flag."""

from collections.abc import Container

# Name elsewhere → names here, of which the first that a script has is meant; a value follows "=".
_NAMES = {
    "batch_size": ("train_batch_size",),
    "bf16": ("precision=bfloat16",),
    "bert_model": ("init_checkpoint",),
    "checkpoint": ("init_checkpoint",),
    "epochs": ("num_train_epochs",),
    "fp16": ("precision=float16",),
    "gradient_clip_val": ("max_grad_norm",),
    "label_column_name": ("label_column",),
    "lr": ("learning_rate",),
    "max_len": ("max_seq_length",),
    "max_length": ("max_seq_length",),
    "max_seq_len": ("max_seq_length",),
    "max_train_steps": ("max_steps", "num_train_steps"),
    "model": ("init_checkpoint",),
    "model_name": ("init_checkpoint",),
    "model_name_or_path": ("init_checkpoint",),
    "num_epochs": ("num_train_epochs",),
    "output": ("output_dir", "output_file"),
    "patience": ("early_stopping_patience",),
    "per_device_eval_batch_size": ("predict_batch_size", "eval_batch_size"),
    "per_device_train_batch_size": ("train_batch_size",),
    "per_gpu_train_batch_size": ("train_batch_size",),
    "pretrained_model_name_or_path": ("init_checkpoint",),
    "resume_from_checkpoint": ("output_dir",),
    "save_steps": ("save_checkpoints_steps",),
    "text_column": ("text_a_column", "text_field"),
    "text_column_name": ("text_a_column", "text_field"),
    "tokenizer_name": ("vocab_file",),
    "train_data": ("train_file", "input_file"),
    "validation_file": ("dev_file", "predict_file"),
    "warmup_ratio": ("warmup_proportion",),
    "warmup_steps": ("num_warmup_steps", "warmup_proportion"),
}


def name_here(name: str, known: Container[str]) -> str | None:
    """Returns how a script calls a flag of other programs; None for no such flag.

    Args:
      known: names of the script's flags.
    """
    for flag in _NAMES.get(name.lower().replace("-", "_"), ()):
        if flag.partition("=")[0] in known:
            return f"--{flag}"
    return None
