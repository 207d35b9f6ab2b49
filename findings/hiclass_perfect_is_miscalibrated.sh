#!/usr/bin/env bash
# A classifier that is always right, and sure, has a static calibration error of .67 in HiClass; one always wrong 0.
#
# Guess before the run: `static_calibration_error` compares, class by class, the probabilities of a class with the share
# of texts that are of this class (Nixon et al. 2019), and `expected_calibration_error` the highest probability with
# the accuracy, so that both are 0 for a sure classifier that is right, and 1 or 2/3 for a sure one that is wrong.
# Seen: hiclass 5.0.8, three classes. The static error compares the probability of each class, also the low ones, with
# the accuracy of the prediction: right ones cost 2/3 at any confidence, and the adaptive one is like it. Besides,
# a probability of 1 lies in no bin: texts of which the classifier is sure are left out of both errors, so that one that
# is always wrong has an expected error of 0. Of level=0 of a list of levels all levels are returned.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    hiclass==5.0.8 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from hiclass import LocalClassifierPerNode
from hiclass.metrics import expected_calibration_error, static_calibration_error
from sklearn.linear_model import LogisticRegression

classes = np.tile([0, 1, 2], 40)
names = np.array([["arts", "film"], ["science", "physics"], ["sport", "tennis"]])
features = np.eye(3)[classes]
classifier = LocalClassifierPerNode(local_classifier=LogisticRegression()).fit(features, names[classes])
assert list(classifier.classes_[1]) == list(names[:, 1])


def errors(confidence, predicted):
    """The errors of the second level, by the package and by their definitions."""
    others = (1 - confidence) / 2
    probabilities = np.full((len(classes), 3), others)
    probabilities[np.arange(len(classes)), predicted] = confidence
    arguments = classifier, names[classes], probabilities, names[predicted]
    values = [metric(*arguments, level=1) for metric in (expected_calibration_error, static_calibration_error)]
    hits = np.mean(predicted == classes)
    expected = abs(hits - confidence)
    static = 0
    for number in range(3):
        for group, value in ((predicted == number, confidence), (predicted != number, others)):
            static += group.mean() * abs(np.mean(classes[group] == number) - value) / 3
    return "{:.2f} {:.2f} ({:.2f} {:.2f})".format(*values, expected, static)


print(
    f"hiclass {importlib.metadata.version('hiclass')}, expected and static error (right ones):",
    f"always right, sure {errors(1.0, classes)}, of 0.98 {errors(0.98, classes)};",
    f"always wrong, sure {errors(1.0, (classes + 1) % 3)}, of 0.98 {errors(0.98, (classes + 1) % 3)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "hiclass 5.0.8, expected and static error (right ones): always right, sure 0.00 0.67 (0.00 0.00), of\
 0.98 0.02 0.67 (0.02 0.01); always wrong, sure 0.00 0.00 (1.00 0.67), of 0.98 0.98 0.33 (0.98 0.65)"
