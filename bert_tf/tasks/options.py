"""Options that several tasks have."""

import dataclasses

from bert_common.options import FILE, Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataFileOptions(Options):
    """Data files."""

    # A model does not depend on where its data was: runs record the content of the files instead.
    train_file: str | None = option(
        None,
        "Training file; by default the one in --data_dir.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    dev_file: str | None = option(
        None,
        "Development file, evaluated while training and at the end; by default the one in "
        "--data_dir.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    test_file: str | None = option(
        None,
        "File to predict; by default the one in --data_dir.",
        path=FILE,
        common=True,
        affects_result=False,
    )
