#!/usr/bin/env bash
# "Sub-splits of same size" of TensorFlow Datasets differ by 15 examples for 15 languages, and two of twelve are empty.
#
# Guess before the run: `tfds.even_splits("de+en+…", n)` of 15 languages with 10 examples each divides 150 examples
# evenly, as 11 are [4, 4, 3]: 50 each for three hosts, 38 or 37 for four.
# Seen: tensorflow-datasets 4.9.10 with TensorFlow 2.20.0. Each part of the sum is divided alone, and what is over of
# each goes to the same first ones: three hosts have 60, 45 and 45 examples, four 45, 45, 30 and 30, and of twelve
# ten have 15 and two none. With `drop_remainder=True` eight hosts read 120 of the 150, and twelve read nothing,
# without an error. `split_for_jax_process` does the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-datasets==4.9.10 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import numpy as np
import tensorflow_datasets as tfds

LANGUAGES = "ar bg de el en es fr hi ru sw th tr ur vi zh".split()


class Questions(tfds.core.GeneratorBasedBuilder):
    """A development set in 15 languages, a split each."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        features = tfds.features.FeaturesDict({"number": tfds.features.Scalar(np.int64)})
        return tfds.core.DatasetInfo(builder=self, features=features)

    def _split_generators(self, manager):
        return {language: self._generate_examples() for language in LANGUAGES}

    def _generate_examples(self):
        for i in range(10):
            yield i, {"number": i}


builder = Questions(data_dir=sys.argv[1])
builder.download_and_prepare()


def sizes(number, drop):
    """How many examples each host has."""
    splits = tfds.even_splits("+".join(LANGUAGES), number, drop_remainder=drop)
    return " ".join(str(builder.info.splits[split].num_examples) for split in splits)


lists = [f"{number}: {sizes(number, False)}, dropped {sizes(number, True)}" for number in (3, 4, 8, 12)]
print(f"tensorflow-datasets {tfds.__version__}: of 150 examples for hosts {'; '.join(lists)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-datasets 4.9.10: of 150 examples for hosts 3: 60 45 45, dropped 45 45 45; 4: 45 45 30 30,\
 dropped 30 30 30 30; 8: 30 30 15 15 15 15 15 15, dropped 15 15 15 15 15 15 15 15; 12: 15 15 15 15 15 15 15 15 15 15\
 0 0, dropped 0 0 0 0 0 0 0 0 0 0 0 0"
