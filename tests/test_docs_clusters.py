"""The files for schedulers on docs/clusters.md."""

import re

import yaml

from tests.page_commands import parse_command


def test_the_job_of_kubernetes_is_what_the_operator_expects(project, monkeypatch):
  text = (project / "docs/clusters.md").read_text()
  job = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1])
  assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
  assert set(job["spec"]) == {"runPolicy", "tfReplicaSpecs"} and list(job["spec"]["tfReplicaSpecs"]) == ["Worker"]
  worker = job["spec"]["tfReplicaSpecs"]["Worker"]
  assert set(worker) == {"replicas", "restartPolicy", "template"}
  assert worker["restartPolicy"] in ("Always", "OnFailure", "Never", "ExitCode")
  pod = worker["template"]["spec"]
  container, = pod["containers"]
  assert container["name"] == "tensorflow" and [mount["name"] for mount in container["volumeMounts"]] == [
      volume["name"] for volume in pod["volumes"]]
  assert container["command"][0] == "python"
  parse_command(container["command"][1], container["command"][2:], monkeypatch)
