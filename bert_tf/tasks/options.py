"""Options that several tasks have."""

from typing import Any

from bert_common.options import FILE, Options, option, option_class


def delimiter_option(only_with: tuple[str, ...] = ()) -> Any:
    """Declares --delimiter, which goes with --file_format."""
    return option(
        None,
        "Character between the columns of CSV and TSV files, for files without a header.",
        default_text="found by the names of the columns",
        only_with=only_with,
    )


@option_class
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
