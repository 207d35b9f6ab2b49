"""Options of tasks that have a development set of their own."""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import FILE, Options, check_there, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class DevelopmentSetOptions(Options):
    """Development set.

    For tasks that have one of their own.
    """

    do_eval: bool = option(
        False, "Evaluate on the development set at the end.", common=True, affects_result=False
    )
    max_eval_examples: int | None = option(
        None, "Evaluate on the first so many examples of a file only.", minimum=1
    )
    eval_files: tuple[str, ...] = option(
        (),
        "NAME:FILE,...: files to evaluate on besides the development set, which alone chooses the best weights; "
        "their metrics begin with NAME_.",
        affects_result=False,
    )
    skip_bad_rows: bool = option(
        False,
        "Leave out the rows of training and development files that can't be used, and say which, instead of "
        "refusing the file.",
    )

    def relevant(self) -> dict[str, object]:
        # What is predicted is what is evaluated where there is no separate development set.
        return {
            name: value
            for name, value in super().relevant().items()
            if name != "max_predict_examples"
        }

    @property
    def evaluates(self) -> bool:
        """Whether development sets are read."""
        return self.do_train or self.do_eval

    def split_files(
        self, names: Mapping[str, Sequence[str]] | None = None, optional: Sequence[str] = ()
    ) -> dict[str, tuple[str, str]]:
        """Split → (flag, path) of what the run reads: "train", "dev", "test", those of --eval_files
        by their names.

        The path is that of --<split>_file, or the first of `names`, split → file names, that is in
        --data_dir; `optional` splits are read if they are there. With --dev_fraction "train" is
        read for "dev", too.
        """
        others = self.named_eval_files if self.evaluates else {}
        # Without --do_eval, training still evaluates on what there is.
        asked = {
            "train": self.do_train or self.dev_fraction,
            "dev": self.evaluates and not self.dev_fraction,
            "test": self.do_predict,
        }
        found = {}
        for split in (name for name, is_asked in asked.items() if is_asked):
            flag, known = f"{split}_file", (names or {}).get(split, ())
            path, is_needed = (
                getattr(self, flag),
                split not in optional and (split != "dev" or self.do_eval or bool(others)),
            )
            if path is None and self.data_dir and known:
                path = next(
                    filter(files.exists, (os.path.join(self.data_dir, name) for name in known)),
                    None,
                )
                if path is None and is_needed:
                    raise UserError(
                        f"--data_dir: {self.data_dir} has no {' or '.join(known)}: give the directory that has, or "
                        f"--{flag}"
                    )
            if path is None and is_needed:
                by = {
                    "train": "do_train" if self.do_train else "dev_fraction",
                    "dev": "do_eval" if self.do_eval else "eval_files",
                    "test": "do_predict",
                }[split]
                raise UserError(f"--{by} needs --{flag}{' or --data_dir' if known else ''}")
            if path is not None:
                found[split] = flag, files.check_readable(path, flag)
        return found | {
            name: ("eval_files", files.check_readable(path, "eval_files"))
            for name, path in others.items()
        }

    @property
    def named_eval_files(self) -> Mapping[str, str]:
        """Name → path of --eval_files."""
        return dict(one.split(":", 1) for one in self.eval_files)

    def check(self) -> None:
        super().check()
        if not (self.evaluates or self.do_predict):
            raise UserError(
                "nothing to do: give --do_train, --do_eval, --do_predict or several of them"
            )
        names = []
        for one in self.eval_files:
            name, _, path = one.partition(":")
            if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII) or not path or path.startswith("//"):
                raise UserError(
                    f"--eval_files={one}: a name and a file are expected, e.g. --eval_files=hard:dev2.tsv; names "
                    "are letters, digits, _, - and ."
                )
            if name in names:
                raise UserError(f"--eval_files: two files are called {name}")
            names.append(name)

    def check_inputs(self) -> None:
        super().check_inputs()
        for path in self.named_eval_files.values():
            check_there("eval_files", FILE, path)
