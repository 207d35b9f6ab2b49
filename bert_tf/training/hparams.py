"""TensorBoard's page HParams: a row for each run, with its settings beside its metrics."""

import os
import time
from collections.abc import Mapping, Sequence

from bert_common import charts, files
from data_gen.pretraining.tfrecord import masked_crc, record_header

# The name of its own lets a file that is written again replace the older one; those of earlier versions end like this.
_FILE = "events.out.tfevents.hparams"
_EARLIER = "events.out.tfevents.*.selection"


def write_session(directory: str, values: Mapping[str, object], seconds: float | None = None,
                  metrics: Mapping[str, float] | None = None, tag: str = "") -> None:
  """Writes the row of a run into its directory.

  Args:
    values: name → value of the settings.
    seconds: how long the run took; None while it runs.
    metrics: written beside the settings as scalars, each under `tag` and its name. Those that runs report while they
      train, in the directories below, are found anyway.
  """
  from tensorboard.plugins.hparams import api as hp
  from tensorboard.plugins.hparams import api_pb2, summary
  from tensorboard.plugins.scalar import summary_v2

  now = time.time()
  row = {name: value if isinstance(value, bool) else shown([value])[0] for name, value in values.items()}
  messages = [hp.hparams_pb(row, trial_id=os.path.basename(os.path.abspath(directory)),
                            start_time_secs=now - (seconds or 0))]
  if seconds is not None:
    messages.append(summary.session_end_pb(api_pb2.STATUS_SUCCESS, end_time_secs=now))
  messages += [summary_v2.scalar_pb(tag + name, value, "Of the best weights, as on page HParams.")
               for name, value in (metrics or {}).items()]
  _write(directory, messages)


def write_experiment(directory: str, values: Mapping[str, Sequence], metrics: Sequence[str], tag: str) -> None:
  """Describes what the rows below a directory have in common, which also orders the columns.

  Args:
    values: name of a setting → its values.
    metrics, tag: as `write_session` wrote them.
  """
  from tensorboard.plugins.hparams import api as hp

  domains = [hp.HParam(name, hp.Discrete(list(dict.fromkeys(shown(sorted(found)))))) for name, found in values.items()]
  _write(directory, [hp.hparams_config_pb(
      domains, [hp.Metric(tag + metric, display_name=metric) for metric in metrics])])


def shown(values: Sequence) -> list:
  """Values as the page shows them well: it writes numbers with five digits, 4 as 4.0000, so whole ones become texts."""
  def is_fraction(value: object) -> bool:
    return isinstance(value, float) and not (value.is_integer() and value)

  if all(map(is_fraction, values)):
    return list(values)
  return [f"{value:g}" if isinstance(value, float) else ",".join(map(str, value))
          if isinstance(value, (list, tuple)) else str(value) for value in values]


def charted(metrics: Sequence[str]) -> list[str]:
  """Those of the metrics that have a chart."""
  return [metric for metric in metrics if charts.tag(metric) is not None]


def _write(directory: str, messages: Sequence) -> None:
  """Makes summaries the one event file of this module in a directory."""
  from tensorboard.compat.proto.event_pb2 import Event

  for path in files.glob_files(os.path.join(files.escape_pattern(directory), _EARLIER)):
    files.remove(path)
  now = time.time()
  events = [Event(wall_time=now, file_version="brain.Event:2"), *(Event(wall_time=now) for _ in messages)]
  for event, message in zip(events[1:], messages, strict=True):
    event.summary.ParseFromString(message.SerializeToString())
  files.make_directories(directory)
  with files.atomic_write(os.path.join(directory, _FILE), "wb") as file:
    for event in events:
      data = event.SerializeToString()
      file.write(record_header(len(data)) + data + masked_crc(data))
