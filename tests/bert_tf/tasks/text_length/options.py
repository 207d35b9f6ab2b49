"""The options of `run_length.py`: those of every fine-tuning, and the files."""

import dataclasses

from bert_common.errors import UserError
from bert_common.options import FILE, option
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import FineTuningOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class LengthOptions(DevelopmentSetOptions, FineTuningOptions):
    """Lengths of texts."""

    train_file: str | None = option(
        None, "Texts to train on, one per line.", path=FILE, common=True
    )
    dev_file: str | None = option(None, "Texts to evaluate on.", path=FILE, common=True)
    test_file: str | None = option(None, "Texts to predict.", path=FILE, common=True)
    max_seq_length: int = option(
        64, "Longer texts are truncated to so many tokens.", minimum=3, common=True
    )

    def check(self) -> None:
        super().check()
        for flag, file in (
            ("do_train", "train_file"),
            ("do_eval", "dev_file"),
            ("do_predict", "test_file"),
        ):
            if getattr(self, flag) and not getattr(self, file):
                raise UserError(f"--{flag} needs --{file}")
