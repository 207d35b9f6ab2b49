"""The benchmark of recomputing activations runs small."""

from benchmarks import recompute, resources


def test_it_runs(capsys, monkeypatch):
  # Processes of their own take seconds to start.
  monkeypatch.setattr(resources, "in_new_process", lambda function, *arguments: function(*arguments))
  recompute.main(recompute.RecomputeOptions(
      size="L2-H128", batch_size=2, max_seq_length=32, vocab_size=200, repetitions=1, steps=1))
  _, _, kept, again, summary = capsys.readouterr().out.splitlines()
  for name, line in (("kept", kept), ("recomputed", again)):
    found, memory, process, *seconds = line.replace(",", "").split()
    assert found == name and 0 <= float(memory) < float(process) and len(seconds) == 2
  assert summary.startswith("recomputed: ")
