"""Options that scripts share: checkpoints, devices, training, fine-tuning, heads, distillation.

This module does not import TensorFlow, so that `--help` and wrong flags answer at once.
"""

import dataclasses
import importlib.util
import itertools
import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

from bert_common.errors import UserError, needs_package
from bert_common.gpus import DEFAULT_CACHE
from bert_common.options import FILE, LARGEST_INT64, Options, declared_options, option, option_class
from bert_common.plugins import Plugins
from data_gen.labeled.rows import LabeledDataOptions
from modeling.config import DECAYS, HEAD_DROPOUT, LARGEST_DROPOUT, LORA_LAYERS, BertConfig

if TYPE_CHECKING:
    from modeling.losses import HeadLoss

# Values of --report_to, and the packages of those that are not always installed.
TENSORBOARD = "tensorboard"
REPORT = "report"
TRACKERS = ("mlflow", "wandb")
# Callbacks of a run. The model card is always written.
CALLBACKS = Plugins(
    "callback of runs",
    {
        "model_card": "bert_tf.runs.model_card:ModelCard",
        TENSORBOARD: "bert_tf.report.tensorboard:TensorBoard",
        REPORT: "bert_tf.report.callback:Report",
        "mlflow": "bert_tf.extras.trackers:Mlflow",
        "wandb": "bert_tf.extras.trackers:Wandb",
    },
)
# Optimizers, by their names in --optimizer.
OPTIMIZERS = Plugins(
    "optimizer",
    {
        "adamw": "bert_tf.training.optimizer:AdamWeightDecay",
        "lamb": "bert_tf.training.optimizer:Lamb",
    },
)
# Teachers of a distillation. The outputs of classifiers are kept in files, the outputs of other
# models are computed in the training step.
TEACHERS = Plugins(
    "teacher",
    {
        "classification": "bert_tf.extras.teachers:TeacherOutputs",
        "step": "bert_tf.extras.teachers:Teachers",
    },
)
# The labels count considerably less than the teacher, which section 2 of arXiv 1503.02531 found
# best.
DISTILLATION_WEIGHT = 0.9


@option_class
class CheckpointOptions(Options):
    """Checkpoint."""

    # These four flags have the names of the original's.
    init_checkpoint: str | None = option(
        None,
        "Weights to start from: a run directory, one of its ckpt-N prefixes, an original "
        "bert_model.ckpt, a Hugging Face directory, .safetensors or .h5 file, a checkpoint of the "
        "Model Garden, a preset of KerasHub, or released weights by name, hf:OWNER/NAME or "
        "google:NAME.",
        path=True,
        common=True,
        affects_result=False,
    )
    bert_config_file: str | None = option(
        None,
        "Configuration of the model, bert_config.json.",
        default_text="found beside --init_checkpoint",
        path=FILE,
        common=True,
        affects_result=False,
    )
    vocab_file: str | None = option(
        None,
        "Vocabulary, vocab.txt.",
        default_text="found beside --init_checkpoint",
        path=FILE,
        affects_result=False,
    )
    do_lower_case: bool | None = option(
        None,
        "Whether the vocabulary is uncased.",
        default_text="found beside --init_checkpoint, else true",
        affects_result=False,
    )

    # Further checkpoints, for scripts without distillation and without ensembles.
    teacher_checkpoint = ()
    ensemble = ()

    def check_inputs(self) -> None:
        super().check_inputs()
        paths = [*self.teacher_checkpoint, *self.ensemble]
        if self.init_checkpoint:
            paths.append(self.init_checkpoint)
        if not paths:
            return
        from modeling.checkpoints.named_weights import check_checkpoint_there

        for path in paths:
            check_checkpoint_there(path)


@option_class
class DeviceOptions(Options):
    """Devices and precision."""

    distribution_strategy: str = option(
        "auto",
        "Devices to compute on. auto: a TPU if one is named, several machines if TF_CONFIG or "
        "Slurm names them, all GPUs.",
        choices=("auto", "none", "mirrored", "multi_worker_mirrored", "tpu"),
        affects_result=False,
    )
    precision: str = option(
        "auto",
        "Precision of the matrix products. auto: bfloat16 on TPUs and new GPUs, float16 on older "
        "ones, else float32. tf32: float32 whose products GPUs round to 10 bits.",
        choices=("auto", "float32", "tf32", "bfloat16", "float16"),
    )
    jit_compile: str = option(
        "auto",
        "Compile the whole step with XLA. auto: on GPUs if the run is long enough to gain by it; "
        "on CPUs oneDNN is faster.",
        choices=("auto", "true", "false"),
        affects_result=False,
    )
    deterministic: bool = option(
        False,
        "Make a GPU give the same bits for the same command every time, at some cost in speed. "
        "CPUs always do.",
        affects_result=False,
    )
    compilation_cache_dir: str | None = option(
        None,
        "Directory that keeps programs compiled by XLA for GPUs for later runs; empty for none.",
        default_text=DEFAULT_CACHE,
        affects_result=False,
    )
    # The original's flags for TPUs, so that its command lines run unchanged.
    use_tpu: bool = option(False, "Same as --distribution_strategy=tpu.", affects_result=False)
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
        "No effect, accepted for old command lines: the number of cores is read from the TPU.",
        affects_result=False,
    )

    # Defaults for scripts that do not define these flags.
    do_train = False
    fused_attention = "off"

    @property
    def strategy_kind(self) -> str:
        """The distribution strategy; "tpu" with --use_tpu."""
        if self.use_tpu:
            return "tpu"
        return self.distribution_strategy

    def check(self) -> None:
        super().check()
        if self.use_tpu and self.distribution_strategy not in ("auto", "tpu"):
            raise UserError(
                f"--use_tpu contradicts --distribution_strategy={self.distribution_strategy}"
            )


@option_class
class TrainingOptions(CheckpointOptions, DeviceOptions):
    """Training."""

    # A flag does not affect the result if a run with another value may resume, or be compared, as
    # the same run.
    output_dir: str = option(
        None,
        "Directory of the run, for checkpoints, results and TensorBoard.",
        required=True,
        path=True,
        common=True,
        affects_result=False,
    )
    do_train: bool = option(False, "Train the model.", common=True, affects_result=False)
    dry_run: bool = option(
        False,
        "Check everything, show the plan of the run, and write nothing.",
        common=True,
        affects_result=False,
    )
    train_batch_size: int = option(
        32, "Examples per step, on all devices together.", minimum=1, sweep=True, common=True
    )
    learning_rate: float = option(5e-5, "Peak learning rate.", above=0, sweep=True, common=True)
    lr_schedule: str = option(
        "linear",
        "Decay of the learning rate after the warm-up: linear as in the original, cosine, "
        "constant, or wsd, which stays constant and falls at the end.",
        choices=DECAYS,
        sweep=True,
    )
    decay_proportion: float = option(
        0.1,
        "Last share of the training, over which --lr_schedule=wsd lowers the learning rate to 0.",
        above=0,
        maximum=1,
        sweep=True,
        only_with=("lr_schedule=wsd",),
    )
    optimizer: str = option(
        "adamw",
        "adamw as in the original, or lamb for large batches: the length of an update is a "
        "share of its weight's (arXiv 1904.00962).",
        choices=tuple(OPTIMIZERS.targets),
    )
    optimizer_betas: tuple[float, ...] = option(
        (0.9, 0.999),
        "Decay of the optimizer's mean of the gradients, and of their squares.",
        above=0,
        below=1,
    )
    weight_decay: float = option(
        0.01,
        "Weight decay, except for biases and LayerNorm.",
        minimum=0,
        sweep=True,
    )
    max_grad_norm: float = option(
        1.0,
        "Largest norm of all gradients together, to which longer ones are scaled down; 0 for none.",
        minimum=0,
        sweep=True,
    )
    hidden_dropout_prob: float | None = option(
        None,
        "Dropout rate of embeddings and layers.",
        minimum=0,
        maximum=LARGEST_DROPOUT,
        sweep=True,
        default_text="as in bert_config.json",
    )
    attention_probs_dropout_prob: float | None = option(
        None,
        "Dropout rate of the attention probabilities.",
        minimum=0,
        maximum=LARGEST_DROPOUT,
        sweep=True,
        default_text="as in bert_config.json",
    )
    seed: int = option(
        12345,
        "Seed of initial weights, order of the data and dropout.",
        minimum=0,
        maximum=LARGEST_INT64,
        sweep=True,
    )
    # The original's names and defaults, apart from the number of checkpoints, which it leaves to
    # TensorFlow's default of 5.
    save_checkpoints_steps: int = option(
        1000, "Steps between checkpoints.", minimum=1, affects_result=False
    )
    keep_checkpoint_max: int = option(
        5, "Number of newest checkpoints to keep; 0 for all.", minimum=0, affects_result=False
    )
    # One tf.function with many steps saves the time between them, but reports and signals wait for
    # its end.
    iterations_per_loop: int | None = option(
        None,
        "Number of steps inside one tf.function, between reports.",
        minimum=1,
        default_text="as many as take about 5 seconds, at most 1000",
        affects_result=False,
    )
    # The first updates are about three times as large without it, which the warm-up damps.
    optimizer_bias_correction: bool = option(
        False,
        "Use Adam's bias correction, which the original lacks, and LAMB always has.",
        only_with=("optimizer=adamw",),
    )
    gradient_accumulation_steps: int = option(
        1,
        "Number of micro-batches per step, to save memory; the result is the same.",
        minimum=1,
        affects_result=False,
    )
    freeze_embeddings: bool = option(False, "Do not train the embeddings.")
    freeze_layers: int = option(
        0,
        "Number of lowest layers that are not trained; with --freeze_embeddings no gradient goes "
        "through them.",
        minimum=0,
    )
    recompute: bool = option(
        False,
        "Keep only the outputs of the layers and compute the rest again for the gradients: the "
        "same result with less memory, in more time.",
        affects_result=False,
    )
    report_to: tuple[str, ...] = option(
        (TENSORBOARD, REPORT),
        "Trackers that get metrics, flags and results, in addition to metrics.jsonl, and "
        "report.html; empty for none.",
        choices=(TENSORBOARD, REPORT, *TRACKERS),
        affects_result=False,
        may_be_empty=True,
    )
    profile_steps: tuple[int, ...] | None = option(
        None, "Steps to record with the TensorFlow profiler: FIRST,LAST.", affects_result=False
    )

    # Defaults for scripts that do not define these flags.
    do_eval = False
    do_predict = False
    layerwise_lr_decay = 1.0
    early_stopping_patience = None
    lora = {}

    @property
    def predicts(self) -> bool:
        """Whether the task's `predict` is called."""
        return self.do_predict

    def check(self) -> None:
        super().check()
        schedules = (self.lr_schedule, *self.sweep.get("lr_schedule", ()))
        # Any combination of a sweep may be too long, so the longest decay counts.
        decay = max(self.decay_proportion, *self.sweep.get("decay_proportion", (0,)))
        if "wsd" in schedules and self.warmup_proportion + decay > 1 + 1e-9:
            raise UserError(
                f"--decay_proportion={self.decay_proportion:g}: warm-up and decay are longer than "
                f"the run, the warm-up alone has a share of {self.warmup_proportion:g} of its "
                "steps: shorten one of them"
            )
        self._check_sweep()
        if len(self.optimizer_betas) != 2:
            betas = ",".join(str(value) for value in self.optimizer_betas)
            raise UserError(f"--optimizer_betas={betas}: two numbers are expected, e.g. 0.9,0.999")
        for name in TRACKERS:
            if name not in self.report_to:
                continue
            spec = importlib.util.find_spec(name)
            # A directory of that name, such as wandb leaves, is no package.
            if spec is None or spec.origin is None:
                raise needs_package(f"--report_to={name}", name)
        if self.profile_steps is not None:
            steps = ",".join(str(value) for value in self.profile_steps)
            if len(self.profile_steps) != 2:
                raise UserError(
                    f"--profile_steps={steps}: two steps are expected, e.g. --profile_steps=20,30"
                )
            if not 0 < self.profile_steps[0] < self.profile_steps[1]:
                raise UserError(
                    f"--profile_steps={steps}: the first step must be positive and less than the "
                    "last"
                )

    def _check_sweep(self) -> None:
        """Raises `UserError` for several values of options that can have one only."""
        if self.sweep and not self.do_train:
            names = " and ".join(f"--{name}" for name in self.sweep)
            raise UserError(
                f"several values of {names} are for --do_train: to evaluate or predict there is "
                "one model"
            )
        directories = [combination.output_dir for combination in self.combinations()]
        if len(set(directories)) < len(directories):
            raise UserError(
                "two runs of the selection would be in one directory, named by six digits of each "
                "value: choose values that differ in these"
            )

    def apply_to(self, config: BertConfig) -> BertConfig:
        """Returns the configuration with the dropout rates of the flags."""
        rates = {}
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            rate = getattr(self, name)
            if rate is not None:
                rates[name] = rate
        return dataclasses.replace(config, **rates)

    def limit_length(self, config: BertConfig) -> Self:
        """Returns the options with at most as many tokens as the model has positions.

        A --max_seq_length that was chosen stays.
        """
        # The default suits models with 512 positions; small ones may have fewer.
        positions = config.max_position_embeddings
        if self.max_seq_length <= positions or self.is_chosen("max_seq_length"):
            return self
        return self.replace(max_seq_length=positions)

    def fit_devices(self, replicas: int) -> Self:
        """Returns the options with default batch sizes that can be divided among the replicas.

        They are raised to the next multiple; sizes that were given stay.
        """
        changes = {}
        for name, parts in (
            ("train_batch_size", replicas * self.gradient_accumulation_steps),
            ("eval_batch_size", replicas),
        ):
            size = getattr(self, name, 0)
            if size % parts and not self.is_chosen(name):
                changes[name] = -(-size // parts) * parts
        return self.replace(**changes) if changes else self

    def relevant(self) -> dict[str, object]:
        """Returns name → value of the options that a result depends on.

        Paths of files are not among them, as their contents count.
        """
        values = self.values()
        relevant = {}
        for declared in declared_options(type(self)):
            if declared.affects_result and declared.name in values:
                relevant[declared.name] = values[declared.name]
        return relevant

    def combinations(self) -> list["TrainingOptions"]:
        """Returns one set of options for each combination of a sweep, with its own directory."""
        if not self.sweep:
            return [self]
        # The runs have the order of the options, the last of which varies fastest. All that
        # a sweep may have take part, with one value each if they have no others.
        values = {}
        for declared in declared_options(type(self)):
            if declared.sweep:
                name = declared.name
                values[name] = self.sweep.get(name, (getattr(self, name),))
        # Names of directories always have these options, and others that have several values.
        labels = {
            "learning_rate": "lr",
            "train_batch_size": "bs",
            "num_train_epochs": "ep",
            "seed": "seed",
        }
        for name in self.sweep:
            labels.setdefault(name, name)
        combinations = []
        for combination in itertools.product(*values.values()):
            changes = dict(zip(values, combination, strict=True))
            parts = []
            for name, label in labels.items():
                if name in changes:
                    value = changes[name]
                    # 3.0 epochs are "ep3", and a rate of 0.00001 is "lr1e-05".
                    parts.append(
                        f"{label}{value:g}" if isinstance(value, float) else f"{label}{value}"
                    )
            directory = os.path.join(self.output_dir, "_".join(parts))
            combinations.append(self.replace(sweep={}, output_dir=directory, **changes))
        return combinations

    def paths(self) -> tuple[str, ...]:
        """Returns all paths that a run with these options reads or writes.

        Some devices have no access to this machine's files.
        """
        paths = []
        for value in self.path_options().values():
            if isinstance(value, tuple):
                paths += value
            else:
                paths.append(value)
        return tuple(paths)


@option_class
class LoraOptions(Options):
    """LoRA.

    For every task that is fine-tuned.
    """

    lora_rank: int = option(
        0,
        "Rank of low-rank updates of the encoder's matrices, which are trained with the head while "
        "the rest of the model stays as it is. 0 trains the whole model. A higher --learning_rate "
        "fits, such as 5e-4.",
        minimum=0,
        sweep=True,
    )
    # The default keeps the scale of the updates at 1, whatever their rank.
    lora_alpha: float | None = option(
        None,
        "Scale of the updates, which is divided by --lora_rank.",
        above=0,
        sweep=True,
        default_text="--lora_rank",
        only_with=("lora_rank",),
    )
    lora_layers: tuple[str, ...] = option(
        ("query", "value"),
        "Layers whose matrices get an update, separated by commas.",
        choices=(*LORA_LAYERS, "all"),
        only_with=("lora_rank",),
    )

    @property
    def lora(self) -> dict[str, object]:
        """Arguments of `BertEncoder.enable_lora`; empty without LoRA."""
        # The other two flags have no effect without a rank.
        if not self.lora_rank:
            return {}
        layers = "all" if "all" in self.lora_layers else self.lora_layers
        return {"rank": self.lora_rank, "lora_alpha": self.lora_alpha, "layers": layers}


@option_class
class FineTuningOptions(LabeledDataOptions, LoraOptions, TrainingOptions):
    """Fine-tuning."""

    # Options that say how texts are read, and that `task.json` has under the same names.
    read_as_trained: ClassVar[tuple[str, ...]] = ("max_seq_length",)

    do_predict: bool = option(False, "Predict the test set.", common=True, affects_result=False)
    num_train_epochs: float = option(
        3.0,
        "Number of passes over the training data.",
        above=0,
        maximum=1e6,
        sweep=True,
        common=True,
    )
    warmup_proportion: float = option(
        0.1, "Share of the training over which the learning rate rises.", minimum=0, maximum=1
    )
    layerwise_lr_decay: float = option(
        1.0,
        "Layer-wise learning-rate decay: each layer's rate is this factor times the rate of the "
        "layer above. 1 is the same rate everywhere.",
        above=0,
        maximum=1,
        sweep=True,
    )
    eval_steps: int | None = option(
        None,
        "Number of steps between evaluations while training; 0 for none.",
        minimum=0,
        default_text="an epoch",
    )
    best_metric: str | None = option(
        None,
        "Metric of the development set that chooses the best weights.",
        default_text="the task's main metric, the first that is shown",
    )
    early_stopping_patience: int | None = option(
        None,
        "Number of evaluations in a row without a new best one after which training ends.",
        minimum=1,
        default_text="train to the end",
    )
    predict_batch_size: int = option(
        64,
        "Examples per batch of predictions, on all devices together, without effect on them.",
        minimum=1,
        affects_result=False,
    )
    pad_to_max_length: bool = option(
        False,
        "Pad every batch to --max_seq_length instead of the length of its longest sequence. TPUs "
        "always do.",
        affects_result=False,
    )

    bilstm_units: int | None = option(
        None,
        "Units per direction of a BiLSTM between encoder and head, with random initial weights; "
        "0 for none.",
        minimum=0,
        maximum=10_000,
        default_text="as in bert_config.json, 0 unless the checkpoint was trained with one",
    )
    original_batches: bool = option(
        False,
        "Make batches as the original does: of random examples instead of similar lengths, across "
        "the ends of epochs and so always full. The number of steps follows.",
    )

    def check(self) -> None:
        super().check()
        if self.early_stopping_patience and self.eval_steps == 0:
            raise UserError(
                "--early_stopping_patience counts evaluations while training, and --eval_steps=0 "
                "asks for none"
            )

    def apply_to(self, config: BertConfig) -> BertConfig:
        """Returns the configuration with the dropout rates and the BiLSTM of the flags."""
        config = super().apply_to(config)
        # The checkpoint decides if the flag is not given.
        if self.bilstm_units is None:
            return config
        if config.bilstm_units not in (0, self.bilstm_units):
            raise UserError(
                f"--bilstm_units={self.bilstm_units} contradicts the checkpoint, whose BiLSTM has "
                f"{config.bilstm_units} units: leave the flag out, or start from the pre-trained "
                "checkpoint"
            )
        return dataclasses.replace(config, bilstm_units=self.bilstm_units)

    def as_trained(self, task: Mapping[str, object]) -> Self:
        """Returns the options of an evaluation, which reads texts as the training did.

        Args:
          task: `task.json` of the model, whose values take the place of defaults.

        Raises:
          UserError: a value is out of range.
        """
        changes = {}
        for declared in declared_options(type(self)):
            name = declared.name
            if name not in self.read_as_trained or self.is_chosen(name) or task.get(name) is None:
                continue
            try:
                declared.check(task[name])
            except UserError as error:
                raise UserError(f"task.json: {error}") from None
            changes[name] = task[name]
        return self.replace(**changes)

    def steps_per_epoch(self, num_examples: int) -> int:
        """Returns the number of steps of an epoch.

        The last batch of an epoch may be smaller. The original counts full batches only.
        """
        if self.original_batches:
            return max(1, num_examples // self.train_batch_size)
        return -(-num_examples // self.train_batch_size)

    def num_train_steps(self, num_examples: int) -> int:
        """Returns the number of updates of a whole run."""
        # The original rounds the steps of the whole run down, and its epochs overlap.
        if self.original_batches:
            return max(1, int(num_examples / self.train_batch_size * self.num_train_epochs))
        return max(1, math.ceil(self.num_train_epochs * self.steps_per_epoch(num_examples)))


@option_class
class HeadDropoutOptions(FineTuningOptions):
    """Head.

    For tasks whose head has dropout, which the head of question answering lacks.
    """

    classifier_dropout: float | None = option(
        None,
        "Dropout rate of the head's input.",
        minimum=0,
        maximum=LARGEST_DROPOUT,
        sweep=True,
        default_text=f"as in the checkpoint's configuration, else {HEAD_DROPOUT}",
    )

    def apply_to(self, config: BertConfig) -> BertConfig:
        """Returns the configuration with the dropout rates and the BiLSTM of the flags."""
        return super().apply_to(config).with_classifier_dropout(self.classifier_dropout)


@option_class
class DistillationOptions(Options):
    """Distillation.

    For tasks that can learn from a trained model's outputs.
    """

    teacher_checkpoint: tuple[str, ...] = option(
        (),
        "Trained models whose outputs are learned, in the formats of --init_checkpoint; the mean "
        "of several.",
        path=True,
        affects_result=False,
    )
    distillation_temperature: float | None = option(
        None,
        "Temperature that divides the logits of teacher and student before the softmax.",
        above=0,
        sweep=True,
        default_text="1",
        only_with=("teacher_checkpoint",),
    )
    distillation_weight: float | None = option(
        None,
        "Weight of the distillation loss; the label loss gets the remainder. Always 1 without "
        "labels.",
        minimum=0,
        maximum=1,
        sweep=True,
        default_text=f"{DISTILLATION_WEIGHT:g}",
        only_with=("teacher_checkpoint",),
    )

    def distilled(self, loss: "HeadLoss", *soft_labels: Callable) -> "HeadLoss":
        """Returns the loss of a head in training, with the teacher's part if there is a teacher.

        Args:
          soft_labels: see `distillation_loss`.
        """
        if not self.teacher_checkpoint:
            return loss
        from modeling.losses import distillation_loss

        weight = self.distillation_weight
        if weight is None:
            weight = DISTILLATION_WEIGHT
        return distillation_loss(loss, weight, self.temperature, *soft_labels)

    @property
    def temperature(self) -> float:
        """Temperature of the distillation."""
        # The flag has no default value, as it needs --teacher_checkpoint.
        if self.distillation_temperature is None:
            return 1.0
        return self.distillation_temperature
