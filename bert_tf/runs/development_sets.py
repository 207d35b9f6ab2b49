"""Options of tasks that have their own development set."""

import os
import re
from collections.abc import Mapping, Sequence

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import FILE, Options, check_there, option, option_class

# Beginnings of metrics such as macro_f1, which is also the f1 of a file that is called "macro"; the
# macro_f1 of a file "a" would be the f1 of a file "a_macro".
_BEGINNINGS_OF_METRICS = ("macro", "retrieval", "surface")


@option_class
class DevelopmentSetOptions(Options):
    """Development set.

    For tasks that have one, which precedes `FineTuningOptions` among the base classes.
    """

    do_eval: bool = option(
        False, "Evaluate on the development set at the end.", common=True, affects_result=False
    )
    max_eval_examples: int | None = option(
        None, "Maximum number of examples to evaluate per file.", minimum=1
    )
    eval_files: tuple[str, ...] = option(
        (),
        "NAME:FILE,...: files to evaluate on besides the development set, which alone chooses the "
        "best weights; their metrics begin with NAME_.",
        affects_result=False,
    )
    skip_bad_rows: bool = option(
        False,
        "Leave unusable rows out and list them in left_out.jsonl, instead of refusing the file: at "
        "most a tenth of its rows, or as many as the number given.",
        counts=True,
    )

    def relevant(self) -> dict[str, object]:
        relevant = super().relevant()
        # The predictions are of another file than the evaluation.
        relevant.pop("max_predict_examples", None)
        return relevant

    @property
    def evaluates(self) -> bool:
        """Whether development sets are read."""
        return self.do_train or self.do_eval

    @property
    def eval_splits(self) -> Mapping[str, str]:
        """Split → path of --eval_files: "dev_NAME", as NAME alone may be another split, "train"."""
        paths = {}
        for named_file in self.eval_files:
            # Only the first colon separates, because addresses such as gs://… have one of their
            # own.
            name, path = named_file.split(":", 1)
            paths[f"dev_{name}"] = path
        return paths

    def paths(self) -> tuple[str, ...]:
        return super().paths() + tuple(self.eval_splits.values())

    def split_files(
        self, names: Mapping[str, Sequence[str]] | None = None, optional: Sequence[str] = ()
    ) -> dict[str, tuple[str, str]]:
        """Returns split → (flag, path) of the files that the run reads.

        Splits are "train", "dev", "test", and "dev_NAME" for the names in --eval_files. With
        --dev_fraction "train" is read for "dev", too.

        Args:
          names: split → names of its file in --data_dir; the first that exists is read if
            --<split>_file is not given.
          optional: splits that are read only if they exist.
        """
        paths = {}
        for split, needed_flag in self._splits().items():
            flag = f"{split}_file"
            path = getattr(self, flag)
            file_names = ({} if names is None else names).get(split, ())
            is_needed = needed_flag is not None and split not in optional
            if path is None and self.data_dir:
                path = _first_existing(self.data_dir, file_names)
                if path is None and file_names and is_needed:
                    raise UserError(
                        f"--data_dir: {self.data_dir} has no {' or '.join(file_names)}: give the "
                        f"directory that has, or --{flag}"
                    )
            if path is not None:
                paths[split] = (flag, files.check_readable(path, flag))
            elif is_needed:
                flags = [f"--{flag}"]
                # Only some tasks have files with known names.
                if file_names:
                    flags.append("--data_dir")
                if needed_flag == "do_eval":
                    flags.append("--dev_fraction=0.1, which holds out a tenth of --train_file")
                raise UserError(f"--{needed_flag} needs {' or '.join(flags)}")
        if self.evaluates:
            for split, path in self.eval_splits.items():
                paths[split] = ("eval_files", files.check_readable(path, "eval_files"))
        return paths

    def _splits(self) -> dict[str, str | None]:
        """Returns split → flag that needs it; None if it is read only if it exists."""
        splits = {}
        if self.do_train:
            splits["train"] = "do_train"
        elif self.dev_fraction:
            splits["train"] = "dev_fraction"
        # A part that is held out of the training file takes the place of a development file.
        if self.evaluates and not self.dev_fraction:
            if self.do_eval:
                splits["dev"] = "do_eval"
            elif self.eval_files:
                splits["dev"] = "eval_files"
            else:
                # Training evaluates on an existing development set even without --do_eval.
                splits["dev"] = None
        if self.do_predict:
            splits["test"] = "do_predict"
        return splits

    def check(self) -> None:
        super().check()
        if not (self.evaluates or self.do_predict):
            raise UserError(
                "nothing to do: give --do_train, --do_eval, --do_predict or several of them"
            )
        names = []
        for named_file in self.eval_files:
            name, _, path = named_file.partition(":")
            # Names become parts of the metrics' names, in which other characters would not survive
            # everywhere.
            is_name = re.fullmatch(r"\w[\w.-]*", name, re.ASCII)
            # A path after "gs:" begins with slashes: the name was left out.
            if not is_name or not path or path.startswith("//"):
                raise UserError(
                    f"--eval_files={named_file}: a name and a file are expected, e.g. "
                    "--eval_files=hard:dev2.tsv; names are letters, digits, _, - and ."
                )
            if name in names:
                raise UserError(f"--eval_files: two files are called {name}")
            last_word = name.split("_")[-1]
            if last_word in _BEGINNINGS_OF_METRICS:
                raise UserError(
                    f"--eval_files={named_file}: names of metrics begin with {last_word}_ as well: "
                    "choose another name"
                )
            names.append(name)

    def check_inputs(self) -> None:
        super().check_inputs()
        for path in self.eval_splits.values():
            check_there("eval_files", FILE, path)


def _first_existing(directory: str, file_names: Sequence[str]) -> str | None:
    for name in file_names:
        path = os.path.join(directory, name)
        if files.exists(path):
            return path
    return None
