import os
import subprocess
import sys

from bert_common.gpus import Driver, Gpu
from bert_tf.device_report import describe


def test_one_screen_on_any_machine(project):
  environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
  done = subprocess.run([sys.executable, "device_report.py"], capture_output=True, text=True, cwd=project,
                        env=environment, check=False)
  assert (done.returncode, done.stderr) == (0, "")
  lines = done.stdout.splitlines()
  assert len(lines) < 24 and max(map(len, lines)) < 400
  names = [line.split()[0] for line in lines]
  assert names[:2] == ["TensorFlow", "driver"] and {"used", "speed", "cache"} < {*names}
  assert "--precision=auto is " in done.stdout and "TFLOP/s" in done.stdout


def test_gpus_and_libraries():
  driver = Driver("550.54.15", (12, 4), (
      Gpu("NVIDIA A100-SXM4-40GB", (8, 0), 42 * 10**9), Gpu("Tesla T4", (7, 5), 16 * 10**9)))
  rows = describe(driver, {"libcudnn.so.9": "nvidia-cudnn-cu12"})
  assert rows == [
      ("driver", "550.54.15, for CUDA up to 12.4"), ("GPU", "NVIDIA A100-SXM4-40GB, compute capability 8.0, 42.0 GB"),
      ("GPU", "Tesla T4, compute capability 7.5, 16.0 GB"), ("libraries", "missing: libcudnn.so.9")]
  assert describe(driver, {})[-1] == ("libraries", "CUDA's are all there")
  assert describe(Driver(), {})[0] == ("driver", "unknown")
