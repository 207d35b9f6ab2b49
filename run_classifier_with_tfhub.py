"""Script of google-research/bert for weights from TF-Hub; here it only names run_classifier.py."""

import sys

if __name__ == "__main__":
    sys.stderr.write(
        "error: use run_classifier.py with --init_checkpoint=google:uncased_L-12_H-768_A-12 or "
        "another checkpoint in place of --bert_hub_module_handle (docs/checkpoints.md)\n"
    )
    sys.exit(2)
