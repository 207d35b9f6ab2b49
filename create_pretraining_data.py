"""Former place of the script; here it only names data_gen/create_pretraining_data.py."""

import sys

if __name__ == "__main__":
    sys.stderr.write(
        "error: the script is data_gen/create_pretraining_data.py, with the same flags\n"
    )
    sys.exit(2)
