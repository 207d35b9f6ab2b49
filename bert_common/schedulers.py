"""The cluster that a scheduler describes in the environment of a process: Slurm and SageMaker.

Input: variables of the environment. Output: what TF_CONFIG would hold, for `bert_common/cluster.py`.
"""

import json
import re
from collections.abc import Iterator, Mapping

from bert_common.errors import UserError

# Below the ports that Linux gives to outgoing connections (32768). A step of a job has some of its own on every node,
# and so do the jobs with the next numbers, which may be on the same nodes.
_FIRST_PORT, _PORTS_OF_A_STEP, _STEPS = 12000, 16, 1250
# Between steps of one job that run at the same time.
_STRIDE_OF_STEPS = 477
_SAGEMAKER_PORT = 8890
_MOST_NODES = 1 << 16
_RANGES = re.compile(r"([^\[\],]*)\[([\d,-]+)\](.*)", re.ASCII)
_TASKS = re.compile(r"(\d{1,5})(?:\(x(\d{1,5})\))?", re.ASCII)


def described_cluster(environment: Mapping[str, str]) -> dict | None:
  """What TF_CONFIG would hold; None outside such schedulers, and where this process is the only one.

  Raises:
    UserError: variables that contradict each other, or can't be understood.
  """
  return _of_slurm(environment) or _of_sagemaker(environment)


def share_of_gpus(environment: Mapping[str, str]) -> str | None:
  """CUDA_VISIBLE_DEVICES for this process where all tasks of a Slurm node see all its GPUs; else None.

  Raises:
    UserError: the tasks can't have the same number of GPUs.
  """
  visible = [gpu for gpu in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
  sees_all = str(len(visible)) == environment.get("SLURM_GPUS_ON_NODE")
  if not visible or not sees_all or described_cluster(environment) is None:
    return None
  tasks = _tasks_per_node(environment)[_number(environment, "SLURM_NODEID")]
  if len(visible) % tasks:
    raise UserError(f"{tasks} tasks share {len(visible)} GPUs of {environment.get('SLURMD_NODENAME', 'a node')}: start "
                    "one task a node, or one a GPU (srun --ntasks-per-node)")
  share, local = len(visible) // tasks, _number(environment, "SLURM_LOCALID")
  return ",".join(visible[local * share:(local + 1) * share])


def _of_slurm(environment: Mapping[str, str]) -> dict | None:
  """The tasks of a step (`srun`), node by node. A script of `sbatch` and a shell are not in a step of several tasks."""
  if environment.get("SLURM_STEP_NUM_TASKS", "1") == "1" or "SLURM_STEP_ID" not in environment:
    return None
  hosts, tasks = _nodes(environment), _tasks_per_node(environment)
  if len(hosts) != len(tasks):
    raise _wrong(environment, "SLURM_STEP_TASKS_PER_NODE", f"{len(tasks)} nodes are expected to be {len(hosts)}")
  if sum(tasks) != _number(environment, "SLURM_STEP_NUM_TASKS"):
    raise _wrong(environment, "SLURM_STEP_NUM_TASKS", f"the nodes have {sum(tasks)} tasks")
  node, local = _number(environment, "SLURM_NODEID"), _number(environment, "SLURM_LOCALID")
  if node >= len(hosts) or environment.get("SLURMD_NODENAME", hosts[node]) != hosts[node]:
    raise _wrong(environment, "SLURM_NODEID", f"this node is not that one of {', '.join(hosts)}")
  if local >= tasks[node]:
    raise _wrong(environment, "SLURM_LOCALID", f"{hosts[node]} has {tasks[node]} tasks")
  step = _number(environment, "SLURM_JOB_ID") + _STRIDE_OF_STEPS * _number(environment, "SLURM_STEP_ID")
  port = _FIRST_PORT + step % _STEPS * _PORTS_OF_A_STEP
  workers = [f"{host}:{port + number}" for host, count in zip(hosts, tasks, strict=True) for number in range(count)]
  # Not SLURM_PROCID, whose order depends on --distribution.
  return {"cluster": {"worker": workers}, "task": {"type": "worker", "index": sum(tasks[:node]) + local}}


def _of_sagemaker(environment: Mapping[str, str]) -> dict | None:
  if "SM_HOSTS" not in environment:
    return None
  try:
    hosts = json.loads(environment["SM_HOSTS"])
  except (ValueError, RecursionError):
    hosts = None
  if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
    raise _wrong(environment, "SM_HOSTS", "a JSON list of names is expected")
  if len(hosts) < 2:
    return None
  current = environment.get("SM_CURRENT_HOST", "")
  if current not in hosts:
    raise _wrong(environment, "SM_CURRENT_HOST", f"it is none of {', '.join(hosts)}")
  return {"cluster": {"worker": [f"{host}:{_SAGEMAKER_PORT}" for host in hosts]},
          "task": {"type": "worker", "index": hosts.index(current)}}


def _nodes(environment: Mapping[str, str]) -> list[str]:
  """Names of nodes: "gpu[01-03,7],login" is gpu01, gpu02, gpu03, gpu7, login."""
  variable = "SLURM_STEP_NODELIST"
  text = environment.get(variable, "")
  found = []
  # Commas outside brackets.
  for part in re.split(r",(?![^\[]*\])", text):
    for name in _expanded(part):
      if not re.fullmatch(r"[\w.-]+", name, re.ASCII) or len(found) == _MOST_NODES:
        raise _wrong(environment, variable, "a list of nodes such as gpu[01-03,7],login is expected")
      found.append(name)
  return found


def _expanded(text: str) -> Iterator[str]:
  """The names of one pattern, with brackets in any number of places; what can't be understood is left as it is."""
  match = _RANGES.fullmatch(text)
  if match is None:
    yield text
    return
  for numbers in match[2].split(","):
    first, _, last = numbers.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) < int(first):
      # No name of a node.
      yield text
      return
    for number in range(int(first), int(last or first) + 1):
      for rest in _expanded(match[3]):
        yield f"{match[1]}{number:0{len(first)}}{rest}"


def _tasks_per_node(environment: Mapping[str, str]) -> list[int]:
  """Tasks of each node: "2(x3),1" is 2, 2, 2, 1."""
  variable, found = "SLURM_STEP_TASKS_PER_NODE", []
  for part in environment.get(variable, "").split(","):
    match = _TASKS.fullmatch(part)
    if match is None or not int(match[1]):
      raise _wrong(environment, variable, "numbers such as 2(x3),1 are expected")
    found += [int(match[1])] * int(match[2] or 1)
  return found


def _number(environment: Mapping[str, str], variable: str) -> int:
  text = environment.get(variable, "")
  if not re.fullmatch(r"\d{1,10}", text, re.ASCII):
    raise _wrong(environment, variable, "a whole number is expected")
  return int(text)


def _wrong(environment: Mapping[str, str], variable: str, what: str) -> UserError:
  value = environment.get(variable)
  found = f"{variable} is not set" if value is None else f"{variable}={value}"
  return UserError(f"{found}: {what}: start the tasks with srun, or set TF_CONFIG, which wins, or give "
                   "--distribution_strategy=none")
