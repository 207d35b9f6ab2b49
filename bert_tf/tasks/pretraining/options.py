"""The options of `run_pretraining.py`."""

import dataclasses
import re

import numpy as np

from bert_common.errors import UserError
from bert_common.options import FILES, LARGEST_INT, check_there, declared_options, option
from bert_tf.runs.options import DistillationOptions, TrainingOptions
from data_gen.options import MaskingOptions
from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingOptions(MaskingOptions, DistillationOptions, TrainingOptions):
    """Pre-training."""

    input_file: str | None = option(
        None, "Records to train on: comma-separated paths and globs.", path=FILES, common=True
    )
    phases: str | None = option(
        None,
        "Instead of --input_file: LENGTH:SHARE:RECORDS,... trains on several lengths one after the other, e.g. the "
        "paper's 128:0.9:records128/*,512:0.1:records512/*. SHARE is that of the steps; LENGTHxBATCH, as in 512x64, has "
        "another batch size than --train_batch_size. Each phase is evaluated on the files of --eval_file of its length.",
    )
    input_groups: int | None = option(
        None,
        "Groups that the record files are dealt into. Each batch takes an equal share from each group, and of "
        "several processes each reads only its own groups: their number must divide that of the groups.",
        minimum=1,
        default_text="as the run was begun; of a new one 1, from 4 processes on as many as processes",
    )
    eval_file: str | None = option(
        None,
        "Held-out records to evaluate on; without it evaluation reads --input_file.",
        path=FILES,
        common=True,
    )
    max_seq_length: int = option(
        128, "Tokens of an example; must be that of the records.", minimum=1, common=True
    )
    masked_lm_prob: tuple[float, ...] = option(
        (0.15,),
        "Share of the tokens to predict; as the next options on masking, for records without masks "
        "(--dynamic_masking). Two numbers, e.g. 0.30,0.15: it falls with every step from the first to the second.",
        minimum=0,
        maximum=1,
    )
    initializer_range: float | None = option(
        None,
        "Standard deviation of random initial weights; small models learn sooner with more than the paper's 0.02, "
        "see docs/pretraining.md.",
        above=0,
        default_text="that of the configuration",
    )
    fused_attention: str = option(
        "auto",
        "Attend by cuDNN's kernel while training: on GPUs, in 16 bits, compiled by XLA, without dropout of the "
        "attention probabilities, and with records that are not packed. auto is off: it was not tried on a GPU "
        "yet, see docs/devices.md.",
        choices=("auto", "on", "off"),
    )
    do_eval: bool = option(False, "Evaluate at the end.", common=True, affects_result=False)
    eval_batch_size: int = option(
        8,
        "Examples of an evaluation batch, on all devices together.",
        minimum=1,
        affects_result=False,
    )
    num_train_steps: int = option(100_000, "Training ends at this step.", minimum=1, common=True)
    num_warmup_steps: int = option(
        10_000, "Steps over which the learning rate rises.", minimum=0, common=True
    )
    eval_steps: int = option(0, "Steps between evaluations while training; 0 for none.", minimum=0)
    max_eval_steps: int | None = option(
        None,
        "Batches of an evaluation.",
        minimum=1,
        default_text="all of --eval_file; 100 where there is none",
    )

    @property
    def losses(self) -> tuple[str, ...]:
        """Names of the parts of the loss."""
        return ("masked_lm", "next_sentence") if self.next_sentence_prediction else ("masked_lm",)

    @property
    def evaluation_batches(self) -> int | None:
        """Batches of an evaluation; None for all there are."""
        # The original's default where evaluation reads the training data.
        return self.max_eval_steps if self.max_eval_steps or self.eval_file else 100

    def phase_options(self) -> list[tuple["PretrainingOptions", int, int]]:
        """The options of each phase, the step it begins at and its last one; one phase where
        --phases is not given."""
        if self.phases is None:
            return [(self, 0, self.num_train_steps)]
        found, total, first = [], 0.0, 0
        for text in self.phases.split(","):
            matched = re.fullmatch(r"\s*(\d+)(?:x(\d+))?:(\d+|\d*\.\d+):(.+?)\s*", text)
            length, batch_size = (
                (int(number or str(self.train_batch_size)) for number in matched.groups()[:2])
                if matched
                else (0, 0)
            )
            if not (0 < length <= LARGEST_INT and 0 < batch_size <= LARGEST_INT):
                raise UserError(
                    f"--phases={text}: LENGTH:SHARE:RECORDS is expected, e.g. 128:0.9:records128/*, or "
                    "LENGTHxBATCH for a batch size of its own"
                )
            total += float(matched[3])
            last = round(min(total, 1.0) * self.num_train_steps)
            if last <= first:
                raise UserError(
                    f"--phases={text}: this phase has no step of --num_train_steps={self.num_train_steps}"
                )
            found.append(
                (
                    self.replace(
                        input_file=matched[4],
                        max_seq_length=length,
                        phases=None,
                        train_batch_size=batch_size,
                    ),
                    first,
                    last,
                )
            )
            first = last
        if abs(total - 1) > 1e-6:
            raise UserError(
                f"--phases={self.phases}: the shares add up to {total:g}, they must add up to 1"
            )
        return found

    @property
    def warmup_proportion(self) -> float:
        return self.num_warmup_steps / self.num_train_steps

    def masked_lm_probs(self, steps: np.ndarray) -> np.ndarray:
        """--masked_lm_prob of the updates that begin at these steps, int64 [b]: float64 [b].

        Of evaluations, whose step is negative, it is the last.
        """
        first, last = self.masked_lm_prob[0], self.masked_lm_prob[-1]
        return np.where(
            steps < 0, last, first + (last - first) * np.minimum(steps / self.num_train_steps, 1.0)
        )

    def adapt(self, config: BertConfig) -> BertConfig:
        """With the dropout rates and the initial weights that were asked for."""
        config = super().adapt(config)
        return (
            config
            if self.initializer_range is None
            else dataclasses.replace(config, initializer_range=self.initializer_range)
        )

    def paths(self) -> tuple[str, ...]:
        """As in all runs, and the records of the phases."""
        return super().paths() + tuple(
            phase.input_file for phase, _, _ in self.phase_options() if self.phases
        )

    def check(self) -> None:
        super().check()
        if (self.input_file is None) == (self.phases is None):
            raise UserError(
                "--input_file or --phases must be given"
                if self.phases is None
                else "--input_file and --phases contradict each other: --phases names the records of every phase"
            )
        self.phase_options()
        if (
            not 1 <= len(self.masked_lm_prob) <= 2
            or self.masked_lm_prob[0] < self.masked_lm_prob[-1]
        ):
            raise UserError(
                f"--masked_lm_prob={','.join(map(str, self.masked_lm_prob))}: one share is expected, or the "
                "first and the last of a falling one, e.g. 0.30,0.15"
            )
        if self.fused_attention == "on" and self.jit_compile == "false":
            raise UserError(
                "--fused_attention=on and --jit_compile=false contradict each other: only XLA has the kernel"
            )
        if self.sweep:
            raise UserError(
                f"--{min(self.sweep)}: several values are for fine-tuning, pre-training takes one"
            )
        if not (self.do_train or self.do_eval):
            raise UserError("nothing to do: give --do_train, --do_eval or both")
        # The default, which is for 100,000 steps, is the original's: a shorter run that leaves it
        # prints so at its start.
        default = next(
            one.default for one in declared_options(type(self)) if one.name == "num_warmup_steps"
        )
        if (
            self.do_train
            and self.num_warmup_steps > self.num_train_steps
            and ("num_warmup_steps" in self.given or self.num_warmup_steps != default)
        ):
            raise UserError(
                f"--num_warmup_steps={self.num_warmup_steps} is more than --num_train_steps="
                f"{self.num_train_steps}: the learning rate would never reach --learning_rate"
            )
        if self.profile_steps and self.profile_steps[1] > self.num_train_steps:
            raise UserError(
                f"--profile_steps={self.profile_steps[0]},{self.profile_steps[1]} goes beyond the end of "
                f"training, --num_train_steps={self.num_train_steps}"
            )

    def check_inputs(self) -> None:
        super().check_inputs()
        for phase, _, _ in self.phase_options() if self.phases else ():
            check_there("phases", FILES, phase.input_file)
