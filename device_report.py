"""Shows what this machine computes on: GPUs, driver, libraries, speed, precision, the cache of compiled programs.

  python device_report.py

What is wrong is at the end, a line each, with what to do. Exit status 0 also where there is no GPU.
"""

from bert_common import cli
from bert_tf.device_report import DeviceReportOptions

if __name__ == "__main__":
  cli.run(DeviceReportOptions, "bert_tf.device_report:report")
