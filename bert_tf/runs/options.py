"""The options that scripts share: checkpoints, devices, training, fine-tuning, development sets,
heads.

No TensorFlow here: `--help` and wrong flags answer at once.
"""

import dataclasses
import importlib.util
import itertools
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from bert_common.errors import UserError, needs_package
from bert_common.gpus import DEFAULT_CACHE
from bert_common.options import FILE, LARGEST_INT64, Options, declared_options, option
from bert_common.plugins import Plugins
from data_gen.labelled.rows import LabelledDataOptions
from modeling.config import DECAYS, HEAD_DROPOUT, LARGEST_DROPOUT, BertConfig

if TYPE_CHECKING:
    from modeling.losses import HeadLoss

# Values of --report_to, and the packages of those that are not always installed.
TENSORBOARD = "tensorboard"
TRACKERS = ("mlflow", "wandb")
# What may follow a run; the model card always does.
CALLBACKS = Plugins(
    "callback of runs",
    {
        "model_card": "bert_tf.runs.model_card:ModelCard",
        TENSORBOARD: "bert_tf.training.tensorboard:TensorBoard",
        "mlflow": "bert_tf.extras.trackers:Mlflow",
        "wandb": "bert_tf.extras.trackers:Wandb",
    },
)
# Models whose outputs a smaller one learns: of classifiers they are kept, of others computed in the
# training step.
TEACHERS = Plugins(
    "teacher",
    {
        "classification": "bert_tf.extras.teachers:TeacherOutputs",
        "step": "bert_tf.extras.teachers:Teachers",
    },
)
# The labels' part counts considerably less, as section 2 of arXiv 1503.02531 found best.
DISTILLATION_WEIGHT = 0.9


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckpointOptions(Options):
    """Checkpoint."""

    init_checkpoint: str | None = option(
        None,
        "Weights to start from: a run directory, one of its ckpt-N prefixes, an original bert_model.ckpt, a "
        "Hugging Face directory, .safetensors or .h5 file, a checkpoint of the Model Garden, a preset of KerasHub, or "
        "released weights by name, hf:OWNER/NAME or google:NAME.",
        path=True,
        common=True,
        affects_result=False,
    )
    bert_config_file: str | None = option(
        None,
        "The model's shape, bert_config.json.",
        default_text="found beside --init_checkpoint",
        path=FILE,
        common=True,
        affects_result=False,
    )
    vocab_file: str | None = option(
        None,
        "The vocabulary, vocab.txt.",
        default_text="found beside --init_checkpoint",
        path=FILE,
        affects_result=False,
    )
    do_lower_case: bool | None = option(
        None,
        "Casing of the vocabulary.",
        default_text="found beside --init_checkpoint, else true",
        affects_result=False,
    )

    # Of distillation, and of question answering.
    teacher_checkpoint = ensemble = ()

    def check_inputs(self) -> None:
        super().check_inputs()
        paths = [*filter(None, (self.init_checkpoint, *self.teacher_checkpoint, *self.ensemble))]
        if paths:
            from modeling.checkpoints.named_weights import check_checkpoint_there
        for path in paths:
            check_checkpoint_there(path)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceOptions(Options):
    """Devices and precision."""

    distribution_strategy: str = option(
        "auto",
        "Devices to compute on. auto: a TPU where one is named, several machines where TF_CONFIG, Slurm or "
        "Kubernetes names them, all GPUs.",
        choices=("auto", "none", "mirrored", "multi_worker_mirrored", "tpu"),
        affects_result=False,
    )
    precision: str = option(
        "auto",
        "Of the matrix products. auto: bfloat16 on TPUs and new GPUs, float16 on older ones, else float32. tf32: "
        "float32 whose products GPUs round to 10 bits.",
        choices=("auto", "float32", "tf32", "bfloat16", "float16"),
    )
    jit_compile: str = option(
        "auto",
        "Compile the whole step with XLA. auto: on GPUs where a run is long enough to gain by it; on CPUs oneDNN "
        "is faster.",
        choices=("auto", "true", "false"),
        affects_result=False,
    )
    deterministic: bool = option(
        False,
        "The same bits from the same command on the same GPU, every time, at some cost in speed. On CPUs it is "
        "always so.",
        affects_result=False,
    )
    compilation_cache_dir: str | None = option(
        None,
        "Where programs that XLA compiled for GPUs are kept for later runs; empty for nowhere.",
        default_text=DEFAULT_CACHE,
        affects_result=False,
    )
    use_tpu: bool = option(False, "As --distribution_strategy=tpu.", affects_result=False)
    tpu_name: str | None = option(
        None,
        "Name or grpc:// address of the TPU; 'local' on a TPU VM.",
        aliases=("master",),
        affects_result=False,
    )
    tpu_zone: str | None = option(None, "Zone of the TPU.", affects_result=False)
    gcp_project: str | None = option(None, "Project of the TPU.", affects_result=False)
    num_tpu_cores: int = option(
        8,
        "Accepted for old command lines: the number of cores is read from the TPU.",
        affects_result=False,
    )

    # Where a script has no such flag.
    do_train, fused_attention = False, "off"

    @property
    def strategy_kind(self) -> str:
        """--distribution_strategy, with --use_tpu taken into account."""
        return "tpu" if self.use_tpu else self.distribution_strategy

    def check(self) -> None:
        super().check()
        if self.use_tpu and self.distribution_strategy not in ("auto", "tpu"):
            raise UserError(
                f"--use_tpu contradicts --distribution_strategy={self.distribution_strategy}"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(CheckpointOptions, DeviceOptions):
    """Training."""

    output_dir: str = option(
        None,
        "Directory of the run: checkpoints, results, TensorBoard.",
        required=True,
        path=True,
        common=True,
        affects_result=False,
    )
    do_train: bool = option(False, "Train.", common=True, affects_result=False)
    dry_run: bool = option(
        False,
        "Check everything, show what would be done, and write nothing.",
        common=True,
        affects_result=False,
    )
    train_batch_size: int = option(
        32, "Examples of a step, on all devices together.", minimum=1, sweep=True, common=True
    )
    learning_rate: float = option(5e-5, "Peak learning rate.", above=0, sweep=True, common=True)
    lr_schedule: str = option(
        "linear",
        "How the learning rate falls after the warm-up: linear as in the original, cosine, constant, or wsd, "
        "which stays and falls at the end.",
        choices=DECAYS,
        sweep=True,
    )
    decay_proportion: float = option(
        0.1,
        "With --lr_schedule=wsd: share of the training, its last, over which the learning rate falls to 0.",
        above=0,
        maximum=1,
        sweep=True,
        only_with=("lr_schedule=wsd",),
    )
    weight_decay: float = option(
        0.01, "Weight decay of AdamW; biases and LayerNorm have none.", minimum=0, sweep=True
    )
    max_grad_norm: float = option(
        1.0,
        "Largest norm of all gradients together, longer ones are scaled down; 0 for none.",
        minimum=0,
        sweep=True,
    )
    hidden_dropout_prob: float | None = option(
        None,
        "Dropout of embeddings and layers.",
        minimum=0,
        maximum=LARGEST_DROPOUT,
        sweep=True,
        default_text="as in bert_config.json",
    )
    attention_probs_dropout_prob: float | None = option(
        None,
        "Dropout of the attention probabilities.",
        minimum=0,
        maximum=LARGEST_DROPOUT,
        sweep=True,
        default_text="as in bert_config.json",
    )
    seed: int = option(
        12345,
        "Drives initial weights, order of the data and dropout.",
        minimum=0,
        maximum=LARGEST_INT64,
        sweep=True,
    )
    save_checkpoints_steps: int = option(
        1000, "Steps between checkpoints.", minimum=1, affects_result=False
    )
    keep_checkpoint_max: int = option(
        5, "How many checkpoints are kept; 0 for all.", minimum=0, affects_result=False
    )
    iterations_per_loop: int | None = option(
        None,
        "Steps inside one tf.function, between reports.",
        minimum=1,
        default_text="as many as take about 5 seconds, at most 1000",
        affects_result=False,
    )
    optimizer_bias_correction: bool = option(
        False, "Adam with bias correction, which the original does not have."
    )
    gradient_accumulation_steps: int = option(
        1,
        "Micro-batches that --train_batch_size is cut into, to save memory; the result is the same.",
        minimum=1,
        affects_result=False,
    )
    freeze_embeddings: bool = option(False, "Leave the embeddings as they are.")
    freeze_layers: int = option(
        0,
        "Leave so many of the lowest layers as they are; with --freeze_embeddings no gradient goes through them.",
        minimum=0,
    )
    recompute: bool = option(
        False,
        "Keep only the outputs of the layers and compute the rest again for the gradients: the same result with "
        "less memory, in more time.",
        affects_result=False,
    )
    report_to: tuple[str, ...] = option(
        (TENSORBOARD,),
        "What follows the run beside metrics.jsonl: metrics, flags and results go there; empty "
        "for nothing.",
        choices=(TENSORBOARD, *TRACKERS),
        affects_result=False,
    )
    profile_steps: tuple[int, ...] | None = option(
        None, "FIRST,LAST: steps to record with the TensorFlow profiler.", affects_result=False
    )

    # Where a script has no such flag. A run that `asks` (question answering) prints an answer, and
    # nothing else.
    do_eval = do_predict = asks = False
    layerwise_lr_decay, warmup_proportion, max_seq_length = 1.0, 0.0, 128
    early_stopping_patience = None
    lora = named_eval_files = {}

    def check(self) -> None:
        super().check()
        decay = max(self.decay_proportion, *self.sweep.get("decay_proportion", (0,)))
        if (
            "wsd" in (self.lr_schedule, *self.sweep.get("lr_schedule", ()))
            and self.warmup_proportion + decay > 1 + 1e-9
        ):
            raise UserError(
                f"--decay_proportion={self.decay_proportion:g}: warm-up and decay are longer than the run, the "
                f"warm-up alone has a share of {self.warmup_proportion:g} of its steps: shorten one of them"
            )
        for name in set(self.report_to) & {*TRACKERS}:
            found = importlib.util.find_spec(name)
            # A directory of that name, such as wandb leaves, is no package.
            if found is None or found.origin is None:
                raise needs_package(f"--report_to={name}", name)
        if self.profile_steps is None:
            return
        if len(self.profile_steps) != 2:
            raise UserError(
                f"--profile_steps={','.join(map(str, self.profile_steps))}: two steps are expected, e.g. "
                "--profile_steps=20,30"
            )
        first, last = self.profile_steps
        if not 0 < first < last:
            raise UserError(
                f"--profile_steps={first},{last}: the first step must be positive and less than the last"
            )

    def adapt(self, config: BertConfig) -> BertConfig:
        """The configuration with the dropout rates that were given."""
        given = {
            name: rate
            for name in ("hidden_dropout_prob", "attention_probs_dropout_prob")
            if (rate := getattr(self, name)) is not None
        }
        return dataclasses.replace(config, **given)

    def fit(self, config: BertConfig) -> Self:
        """With no more tokens than the model has positions, unless their number was chosen."""
        most = config.max_position_embeddings
        return (
            self
            if self.max_seq_length <= most or self.is_chosen("max_seq_length")
            else self.replace(max_seq_length=most)
        )

    def relevant(self) -> dict[str, object]:
        """Name → value of the options that a result depends on, without files whose contents
        count."""
        affecting = {
            one.name for one in declared_options(type(self)) if one.declaration.affects_result
        }
        return {name: value for name, value in self.values().items() if name in affecting}

    def combinations(self) -> list["TrainingOptions"]:
        """One set of options for each combination of a sweep, each with a directory of its own
        where there are several."""
        if not self.sweep:
            return [self]
        values = {
            one.name: self.sweep.get(one.name, (getattr(self, one.name),))
            for one in declared_options(type(self))
            if one.declaration.sweep
        }
        chosen = [
            dict(zip(values, combination, strict=True))
            for combination in itertools.product(*values.values())
        ]
        # In the names of directories these are always there; of the other options, those that have
        # several values.
        labels = {
            "learning_rate": "lr",
            "train_batch_size": "bs",
            "num_train_epochs": "ep",
            "seed": "seed",
        }
        labels |= {name: name for name in self.sweep if name not in labels}
        folders = [
            "_".join(
                f"{label}{one[name]:g}" if isinstance(one[name], float) else f"{label}{one[name]}"
                for name, label in labels.items()
                if name in one
            )
            for one in chosen
        ]
        return [
            self.replace(sweep={}, output_dir=os.path.join(self.output_dir, folder), **one)
            for one, folder in zip(chosen, folders, strict=True)
        ]

    def paths(self) -> tuple[str, ...]:
        """Whatever a run with these options reads or writes, for devices that have no access to
        this machine's files."""
        given = [
            path
            for value in self.path_options().values()
            for path in (value if isinstance(value, tuple) else (value,))
        ]
        return *given, *self.named_eval_files.values()


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoraOptions(Options):
    """LoRA.

    Of every task that is fine-tuned.
    """

    lora_rank: int = option(
        0,
        "Train low-rank updates of the encoder's matrices, of this rank, and the head; all else of the model stays as "
        "it is. 0 trains the whole model. A higher --learning_rate fits, such as 5e-4.",
        minimum=0,
        sweep=True,
    )
    lora_alpha: float | None = option(
        None,
        "The updates are scaled by this, divided by --lora_rank.",
        above=0,
        sweep=True,
        default_text="--lora_rank",
        only_with=("lora_rank",),
    )
    lora_layers: tuple[str, ...] = option(
        ("query", "value"),
        "The layers whose matrices get an update, separated by commas.",
        choices=(
            "query",
            "key",
            "value",
            "attention_output",
            "intermediate",
            "output_dense",
            "all",
        ),
        only_with=("lora_rank",),
    )

    @property
    def lora(self) -> dict[str, object]:
        """The arguments of `BertEncoder.enable_lora`; empty without LoRA."""
        if not self.lora_rank:
            return {}
        layers = "all" if "all" in self.lora_layers else self.lora_layers
        return {"rank": self.lora_rank, "lora_alpha": self.lora_alpha, "layers": layers}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuningOptions(LabelledDataOptions, LoraOptions, TrainingOptions):
    """Fine-tuning."""

    do_predict: bool = option(False, "Predict.", common=True, affects_result=False)
    num_train_epochs: float = option(
        3.0, "Passes over the training data.", above=0, maximum=1e6, sweep=True, common=True
    )
    warmup_proportion: float = option(
        0.1, "Share of the training over which the learning rate rises.", minimum=0, maximum=1
    )
    layerwise_lr_decay: float = option(
        1.0,
        "What the learning rate of a layer is, as a share of that of the layer above; the head has the whole, the "
        "embeddings the least. 1 is the same rate everywhere.",
        above=0,
        maximum=1,
        sweep=True,
    )
    eval_steps: int | None = option(
        None,
        "Steps between evaluations while training; 0 for none.",
        minimum=0,
        default_text="an epoch",
    )
    best_metric: str | None = option(
        None,
        "By which the best weights are chosen, of the metrics of the development set.",
        default_text="the task's main metric, the first that is shown",
    )
    early_stopping_patience: int | None = option(
        None,
        "Training ends when so many evaluations in a row were no better than the best one.",
        minimum=1,
        default_text="train to the end",
    )
    predict_batch_size: int = option(
        64,
        "Examples of a batch of predictions, on all devices together; the predictions do not depend on it.",
        minimum=1,
        affects_result=False,
    )
    pad_to_max_length: bool = option(
        False,
        "Pad every batch to --max_seq_length, and not only to the length of its longest sequence. Always so on "
        "TPUs.",
        affects_result=False,
    )

    bilstm_units: int | None = option(
        None,
        "Units of each direction of a BiLSTM between encoder and head, of random initial weights; 0 for none.",
        minimum=0,
        maximum=10_000,
        default_text="as in bert_config.json, 0 unless the checkpoint was trained with one",
    )
    original_batches: bool = option(
        False,
        "Batches as in the original: of random examples and not of similar lengths, across the ends of epochs and "
        "so always full; a run has so many steps as that gives.",
    )

    def check(self) -> None:
        super().check()
        if self.early_stopping_patience and self.eval_steps == 0:
            raise UserError(
                "--early_stopping_patience counts evaluations while training, and --eval_steps=0 asks for none"
            )

    def adapt(self, config: BertConfig) -> BertConfig:
        """With the dropout rates and the BiLSTM that were asked for."""
        config = super().adapt(config)
        if self.bilstm_units is None:
            return config
        if config.bilstm_units not in (0, self.bilstm_units):
            raise UserError(
                f"--bilstm_units={self.bilstm_units} contradicts the checkpoint, whose BiLSTM has "
                f"{config.bilstm_units} units: leave the flag out, or start from the pre-trained checkpoint"
            )
        return dataclasses.replace(config, bilstm_units=self.bilstm_units)

    def steps_per_epoch(self, num_examples: int) -> int:
        """The last batch of an epoch may be smaller; it is not dropped. In the original, full
        batches of an epoch."""
        if self.original_batches:
            return max(1, num_examples // self.train_batch_size)
        return -(-num_examples // self.train_batch_size)

    def num_train_steps(self, num_examples: int) -> int:
        """Updates of a whole run."""
        if self.original_batches:
            return max(1, int(num_examples / self.train_batch_size * self.num_train_epochs))
        return max(1, math.ceil(self.num_train_epochs * self.steps_per_epoch(num_examples)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadDropoutOptions(Options):
    """Head.

    For tasks whose head drops units, which that of question answering does not.
    """

    classifier_dropout: float = option(
        HEAD_DROPOUT,
        "Dropout of what the head reads.",
        minimum=0,
        maximum=LARGEST_DROPOUT,
        sweep=True,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationOptions(Options):
    """Distillation.

    For tasks that can learn from a trained model's outputs.
    """

    teacher_checkpoint: tuple[str, ...] = option(
        (),
        "Trained models whose outputs are learnt, as --init_checkpoint; of several the mean.",
        path=True,
        affects_result=False,
    )
    distillation_temperature: float | None = option(
        None,
        "Divides the logits of teacher and student before the softmax.",
        above=0,
        sweep=True,
        default_text="1",
        only_with=("teacher_checkpoint",),
    )
    distillation_weight: float | None = option(
        None,
        "Of the loss against the teacher; that of the labels has the rest. Where there are no labels it is 1.",
        minimum=0,
        maximum=1,
        sweep=True,
        default_text="0.9",
        only_with=("teacher_checkpoint",),
    )

    def distilled(self, loss: "HeadLoss", *soft_labels: Callable) -> "HeadLoss":
        """The loss of a head in training: with the teacher's part, where there is one; see
        `distillation_loss`."""
        if not self.teacher_checkpoint:
            return loss
        from modeling.losses import distillation_loss

        weight = (
            DISTILLATION_WEIGHT if self.distillation_weight is None else self.distillation_weight
        )
        return distillation_loss(loss, weight, self.temperature, *soft_labels)

    @property
    def temperature(self) -> float:
        """That of the distillation."""
        return 1.0 if self.distillation_temperature is None else self.distillation_temperature
