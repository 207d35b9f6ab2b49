"""Options of `run_pretraining.py`."""

import dataclasses
import re

from bert_common.errors import UserError
from bert_common.options import FILES, LARGEST_INT, as_flag, check_there, option, option_class
from bert_tf.runs.options import DistillationOptions, TrainingOptions
from data_gen.options import MaskingOptions
from modeling.config import BertConfig


@option_class
class PretrainingOptions(MaskingOptions, DistillationOptions, TrainingOptions):
    """Pre-training."""

    input_file: str | None = option(
        None, "Records to train on: comma-separated paths and globs.", path=FILES, common=True
    )
    # One run with several phases has one learning-rate schedule and one state of the optimizer;
    # several runs would warm up again.
    phases: str | None = option(
        None,
        "Instead of --input_file, LENGTH:SHARE:RECORDS,... trains on several lengths one after the "
        "other, e.g. the paper's 128:0.9:records128/*,512:0.1:records512/*. SHARE is that of the "
        "steps; LENGTHxBATCH, as in 512x64, sets another batch size than --train_batch_size. Each "
        "phase is evaluated on the files of --eval_file of its length.",
    )
    # None and 1 are different: a run that was begun with several groups keeps them.
    input_groups: int | None = option(
        None,
        "Number of groups that the record files are dealt into. Each batch takes an equal share "
        "from each group, and each of several processes reads only its own groups: the number of "
        "processes must divide that of the groups.",
        minimum=1,
        default_text="as the run was begun; in a new one 1, or as many as processes if these are 4 "
        "or more",
    )
    eval_file: str | None = option(
        None,
        "Held-out records to evaluate on; evaluation reads --input_file by default.",
        path=FILES,
        common=True,
    )
    max_seq_length: int = option(
        128, "Number of tokens of an example; must be that of the records.", minimum=1, common=True
    )
    # Yang et al., 2023 (arXiv 2305.15096), let the share fall.
    masked_lm_prob: tuple[float, ...] = option(
        (0.15,),
        "Share of the tokens to predict; like the other options of masking, for records without "
        "masks (--dynamic_masking). With two numbers, e.g. 0.30,0.15, it falls with every step "
        "from the first to the second.",
        minimum=0,
        maximum=1,
    )
    initializer_range: float | None = option(
        None,
        "Standard deviation of random initial weights; small models learn sooner with more than "
        "the paper's 0.02, see docs/pretraining.md.",
        above=0,
        default_text="that of the configuration",
    )
    # A flag and not a property of the devices: results differ in rounding.
    fused_attention: str = option(
        "auto",
        "Use cuDNN's attention kernel while training: on GPUs, in 16 bits, compiled by XLA, "
        "without dropout of the attention probabilities; packed records need compute capability "
        "9.0. auto is on where it was measured to be faster: compiled by XLA for compute "
        "capability 9.0 or newer, with 512 tokens or more, and no such dropout.",
        choices=("auto", "on", "off"),
    )
    # The original script has the next flags with the same defaults, except for --eval_steps.
    do_eval: bool = option(False, "Evaluate at the end.", common=True, affects_result=False)
    eval_batch_size: int = option(
        8,
        "Number of examples of an evaluation batch, on all devices together.",
        minimum=1,
        affects_result=False,
    )
    num_train_steps: int = option(
        100_000, "Number of the last training step.", minimum=1, common=True
    )
    num_warmup_steps: int = option(
        10_000, "Number of steps over which the learning rate rises.", minimum=0, common=True
    )
    eval_steps: int = option(
        0, "Number of steps between evaluations while training; 0 for none.", minimum=0
    )
    max_eval_steps: int | None = option(
        None,
        "Number of batches of an evaluation.",
        minimum=1,
        default_text="all of --eval_file; 100 without it",
    )

    eval_masked_lm_prob: tuple[float, ...] = option(
        (),
        "Shares of the tokens to predict, e.g. 0.05,0.15,0.3,0.5,0.7,0.9: the evaluation at the "
        "end measures the masked-LM accuracy at each of them, on records without masks "
        "(--dynamic_masking).",
        above=0,
        maximum=1,
        default_text="none",
        affects_result=False,
    )

    @property
    def losses(self) -> tuple[str, ...]:
        """Names of the parts of the loss."""
        if self.next_sentence_prediction:
            return ("masked_lm", "next_sentence")
        return ("masked_lm",)

    @property
    def evaluation_batches(self) -> int | None:
        """Number of batches of an evaluation; None for all records."""
        if self.max_eval_steps is None and not self.eval_file:
            # The original's default; the training data can be large.
            return 100
        return self.max_eval_steps

    def phase_options(self) -> list[tuple["PretrainingOptions", int, int]]:
        """Returns the options of each phase, the step it begins at and its last one."""
        if self.phases is None:
            return [(self, 0, self.num_train_steps)]
        phases = []
        total = 0.0
        first_step = 0
        for text in self.phases.split(","):
            length, batch_size, share, input_file = self._parse_phase(text)
            # Round the end of each phase, not its length: the last phase ends with the run.
            total += share
            last_step = round(min(total, 1.0) * self.num_train_steps)
            if last_step <= first_step:
                raise UserError(
                    f"--phases={text}: this phase has no step of "
                    f"--num_train_steps={self.num_train_steps}"
                )
            options = self.replace(
                input_file=input_file,
                max_seq_length=length,
                phases=None,
                train_batch_size=batch_size,
            )
            phases.append((options, first_step, last_step))
            first_step = last_step
        if abs(total - 1) > 1e-6:
            raise UserError(
                f"--phases={self.phases}: the shares add up to {total:g}, they must add up to 1"
            )
        return phases

    def _parse_phase(self, text: str) -> tuple[int, int, float, str]:
        """Parses LENGTH:SHARE:RECORDS or LENGTHxBATCH:SHARE:RECORDS.

        Returns:
          length, batch size, share of the steps and records.
        """
        # Paths may contain colons (gs://…): the records are everything after the second one.
        match = re.fullmatch(r"\s*(\d+)(?:x(\d+))?:(\d+|\d*\.\d+):(.+?)\s*", text)
        length = 0
        batch_size = 0
        if match:
            length = int(match[1])
            batch_size = self.train_batch_size if match[2] is None else int(match[2])
        if not (0 < length <= LARGEST_INT and 0 < batch_size <= LARGEST_INT):
            raise UserError(
                f"--phases={text}: LENGTH:SHARE:RECORDS is expected, e.g. 128:0.9:records128/*, or "
                "LENGTHxBATCH for a batch size of its own"
            )
        return length, batch_size, float(match[3]), match[4]

    @property
    def warmup_proportion(self) -> float:
        return self.num_warmup_steps / self.num_train_steps

    def masked_lm_probs(self, steps, library):
        """Returns --masked_lm_prob of the updates after so many steps, float64 [b].

        Evaluations have a negative step, and the last share.

        Args:
          steps: int64 [b].
          library: NumPy or TensorFlow, whose the steps are.
        """
        first, last = self.masked_lm_prob[0], self.masked_lm_prob[-1]
        progress = library.minimum(steps / self.num_train_steps, 1.0)
        share = first + (last - first) * progress
        return library.where(steps < 0, last + 0.0 * share, share)

    def apply_to(self, config: BertConfig) -> BertConfig:
        """Returns the configuration with the dropout rates and the initializer of the flags."""
        config = super().apply_to(config)
        if self.initializer_range is None:
            return config
        return dataclasses.replace(config, initializer_range=self.initializer_range)

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of all runs' options, and the records of the phases."""
        paths = super().paths()
        if self.phases:
            paths += tuple(options.input_file for options, _, _ in self.phase_options())
        return paths

    def check(self) -> None:
        super().check()
        if self.input_file is None and self.phases is None:
            raise UserError("--input_file or --phases must be given")
        if self.input_file is not None and self.phases is not None:
            raise UserError(
                "--input_file and --phases contradict each other: --phases names the records of "
                "every phase"
            )
        # Parsing checks --phases.
        self.phase_options()
        shares = self.masked_lm_prob
        if not 1 <= len(shares) <= 2 or shares[0] < shares[-1]:
            raise UserError(
                f"--masked_lm_prob={as_flag(shares)}: one share is expected, or the first and the "
                "last of a falling one, e.g. 0.30,0.15"
            )
        if self.fused_attention == "on" and self.jit_compile == "false":
            raise UserError(
                "--fused_attention=on and --jit_compile=false contradict each other: only XLA has "
                "the kernel"
            )
        if self.eval_masked_lm_prob and not self.do_eval:
            raise UserError(
                "--eval_masked_lm_prob is for the evaluation at the end: give --do_eval"
            )
        # A sweep trains one run after the other: pre-training takes too long for that.
        if self.sweep:
            raise UserError(
                f"--{min(self.sweep)}: several values are for fine-tuning, pre-training takes one"
            )
        if not (self.do_train or self.do_eval):
            raise UserError("nothing to do: give --do_train, --do_eval or both")
        self._check_steps()

    def _check_steps(self) -> None:
        """Raises `UserError` for options that count beyond the last step."""
        # The default is the original's, for 100,000 steps: a shorter run may leave it as it is, and
        # prints so at its start.
        is_chosen = self.is_chosen("num_warmup_steps")
        if self.do_train and is_chosen and self.num_warmup_steps > self.num_train_steps:
            raise UserError(
                f"--num_warmup_steps={self.num_warmup_steps} is more than "
                f"--num_train_steps={self.num_train_steps}: the learning rate would never reach "
                "--learning_rate"
            )
        if self.profile_steps and self.profile_steps[1] > self.num_train_steps:
            raise UserError(
                f"--profile_steps={self.profile_steps[0]},{self.profile_steps[1]} goes beyond the "
                f"end of training, --num_train_steps={self.num_train_steps}"
            )

    def check_inputs(self) -> None:
        super().check_inputs()
        if self.phases:
            for options, _, _ in self.phase_options():
                check_there("phases", FILES, options.input_file)
