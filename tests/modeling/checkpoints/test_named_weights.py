"""Weights by name, of a server on the loopback that plays Google's storage and Hugging Face's hub."""

import io
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile

import pytest

from bert_common import downloads
from bert_common.errors import UserError
from modeling.checkpoints import named_weights
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.named_weights import MIRROR_VARIABLE, check_checkpoint_there, local_path
from modeling.encoder import BertEncoder
from tests.modeling.checkpoints.common import assert_same, random_weights, read_all, write_huggingface
from tests.weights_server import COMMIT, serving

_PROJECT = pathlib.Path(__file__).resolve().parents[3]
NAME, PATH = "google:uncased_L-2_H-128_A-2", "/2020_02_20/uncased_L-2_H-128_A-2"
HUB_NAME, REPOSITORY = "hf:some-one/bert-tiny", "some-one/bert-tiny"


def zipped(folder, prefix=""):
  data = io.BytesIO()
  with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
    for path in sorted(folder.iterdir()):
      file.write(path, prefix + path.name)
  return data.getvalue()


@pytest.fixture
def server(golden, tmp_path, monkeypatch):
  """Has the golden checkpoint as the smallest of Google's models; this process has no cache yet."""
  monkeypatch.setattr(downloads, "_PAUSE", 0.01)
  monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
  named_weights._google_release.cache_clear()
  with serving() as one:
    monkeypatch.setenv(MIRROR_VARIABLE, one.url)
    one.files[PATH + ".zip"] = zipped(golden / "tf1_checkpoint")
    yield one
  named_weights._google_release.cache_clear()


@pytest.fixture
def cached(tmp_path):
  return tmp_path / "cache/bert-tf" / PATH[1:]


def forget():
  """As in another process."""
  named_weights._google_release.cache_clear()


def refused(name, *messages):
  with pytest.raises(UserError) as error:
    read_checkpoint(name)
  for message in messages:
    assert message in str(error.value)


# Google's releases.


@pytest.mark.parametrize("prefix", ["", "uncased_L-2_H-128_A-2/"])
def test_a_release_is_downloaded_once_and_read(server, golden, cached, prefix):
  server.files[PATH + ".zip"] = zipped(golden / "tf1_checkpoint", prefix)
  source = read_checkpoint(NAME)
  assert source.do_lower_case is True and source.vocab_file == str(cached / "vocab.txt")
  assert_same(read_all(NAME), read_all(golden / "tf1_checkpoint"))
  forget()
  encoder = BertEncoder.from_checkpoint(NAME)
  assert encoder.config == source.config
  assert len(server.requests) == 1
  assert sorted(os.listdir(cached.parent)) == [cached.name, f"{cached.name}.zip.sha256"]
  assert subprocess.run(["sha256sum", "-c", "--quiet", downloads.SUMS_FILE], cwd=cached).returncode == 0


def test_a_date_chooses_among_models_of_one_name(server, golden):
  server.files = {"/2020_02_20/uncased_L-12_H-768_A-12.zip": zipped(golden / "tf1_checkpoint")}
  assert local_path("google:2020_02_20/uncased_L-12_H-768_A-12").endswith("2020_02_20/uncased_L-12_H-768_A-12")
  refused("google:uncased_L-12_H-768_A-12", "/2018_10_18/uncased_L-12_H-768_A-12.zip can't be downloaded: HTTP 404")


def test_offline_from_the_cache(server, monkeypatch, cached):
  read_checkpoint(NAME)
  monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:1")
  forget()
  read_checkpoint(NAME)
  refused("google:uncased_L-4_H-256_A-4", f"google:uncased_L-4_H-256_A-4 is not in the cache, {cached.parent}",
          "http://127.0.0.1:1/2020_02_20/uncased_L-4_H-256_A-4.zip can't be downloaded: Connection refused")


def test_a_broken_transfer_is_completed_by_the_next_process(server):
  server.breaks[PATH + ".zip"] = [5000, 0, 0]
  refused(NAME, "the connection ended after 5,000 of", "the same command again resumes")
  read_checkpoint(NAME)
  assert server.requests[-1][2] == "bytes=5000-"


@pytest.mark.parametrize("content", [b"<html>Log in to this network</html>", "cut"])
def test_what_is_no_archive_is_neither_kept_nor_recorded(server, cached, content):
  right = server.files[PATH + ".zip"]
  server.files[PATH + ".zip"] = right[:1000] if content == "cut" else content
  refused(NAME, "the zip file of google:uncased_L-2_H-128_A-2 is damaged")
  assert not cached.exists() and not os.path.exists(f"{cached}.zip.sha256")
  server.files[PATH + ".zip"] = right
  read_checkpoint(NAME)


def test_an_archive_that_leads_out_of_the_cache(server, tmp_path):
  data = io.BytesIO(server.files[PATH + ".zip"])
  with zipfile.ZipFile(data, "a") as file:
    file.writestr("../../../evil", "x")
  server.files[PATH + ".zip"] = data.getvalue()
  refused(NAME, "the name '../../../evil' in it leads out of its directory")
  assert not list(tmp_path.rglob("evil"))


def test_an_archive_of_something_else(server, tmp_path):
  (tmp_path / "a").mkdir()
  (tmp_path / "a/readme.txt").write_text("x")
  server.files[PATH + ".zip"] = zipped(tmp_path / "a")
  refused(NAME, "holds no bert_config.json with a vocab.txt beside it")


def test_a_later_download_must_be_what_the_first_was(server, golden, cached):
  read_checkpoint(NAME)
  shutil.rmtree(cached)
  forget()
  server.files[PATH + ".zip"] = zipped(golden / "tf1_checkpoint", "other/")
  refused(NAME, "what was downloaded has the SHA-256", "at the first download", f"{cached}.zip.sha256")
  assert not cached.exists()
  os.remove(f"{cached}.zip.sha256")
  read_checkpoint(NAME)


@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_a_cache_that_has_changed(server, cached, damage):
  read_checkpoint(NAME)
  forget()
  if damage == "removed":
    os.remove(cached / "vocab.txt")
  else:
    with open(cached / "vocab.txt", "a") as file:
      file.write("one more\n")
  refused(NAME, f"{cached / 'vocab.txt'} is not what was downloaded: remove {cached}")


def test_processes_at_once_download_once(server, golden, tmp_path):
  server.delay = 0.2
  results = [subprocess.Popen([sys.executable, "-c", _PRINT_PATH, NAME], cwd=_PROJECT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment(tmp_path, server)) for _ in range(3)]
  outputs = [process.communicate() for process in results]
  assert len({out for out, _ in outputs}) == 1 and [process.returncode for process in results] == [0, 0, 0]
  assert len(server.requests) == 1


def test_what_a_killed_process_has_left_is_taken_over(server, tmp_path, cached):
  server.stalls[PATH + ".zip"] = 5000
  process = subprocess.Popen([sys.executable, "-c", _PRINT_PATH, NAME], cwd=_PROJECT, stderr=subprocess.DEVNULL,
                             env=environment(tmp_path, server))
  archive, deadline = cached.parent / f".{cached.name}.download/weights.zip", time.monotonic() + 60
  while not archive.exists() or archive.stat().st_size < 5000:
    assert process.poll() is None and time.monotonic() < deadline
    time.sleep(0.02)
  process.kill()
  process.wait()
  del server.stalls[PATH + ".zip"]
  server.over.set()
  read_checkpoint(NAME)
  assert server.requests[-1][2] == "bytes=5000-"


def test_misspelt_names_have_a_suggestion():
  refused("google:uncased_L-12_H-786_A-12", "did you mean google:uncased_L-12_H-768_A-12? The names are")
  refused("google:2018_10_18/cased_L-12_H-768_A12", "did you mean google:2018_10_18/cased_L-12_H-768_A-12?")
  refused("gogle:uncased_L-12_H-768_A-12", "did you mean google:uncased_L-12_H-768_A-12?")
  refused("hugingface:a/b", "did you mean hf:a/b?")
  refused("HF:a/b", "did you mean hf:a/b?")
  refused("hf://a/b", "did you mean hf:a/b?")
  refused("hf:bert-base-uncased", "did you mean hf:google-bert/bert-base-uncased?")
  refused("hf:a/b/c", "hf:OWNER/NAME is expected")
  refused("hf:a/b@../../c", "hf:OWNER/NAME@REVISION")
  refused("google-bert/bert-base-uncased", "give hf:google-bert/bert-base-uncased or google:uncased_L-12_H-768_A-12")
  refused("wwm_cased_L-24_H-1024_A-16", "give google:wwm_cased_L-24_H-1024_A-16")
  refused("some-one/rubert-tiny", "give hf:some-one/rubert-tiny, if that is a name")
  refused("not/there", "there is no checkpoint not/there: neither a directory nor not/there.index exists")


def test_other_paths_stay_what_they_are(tmp_path, monkeypatch):
  for path in ("gs://bucket/bert", "ram://hf:x", "a/hf:b", "c:d", "./google:x", "tiny:1"):
    assert local_path(path) == path
  monkeypatch.chdir(tmp_path)
  (tmp_path / "hub:x").mkdir()
  check_checkpoint_there("hub:x")
  (tmp_path / "google:x").mkdir()
  check_checkpoint_there("./google:x")


def test_there_are_24_small_models_and_all_of_2018_and_2019():
  assert len([path for path in named_weights._PATHS.values() if path.startswith("2020_02_20/")]) == 23 + 24
  assert {*named_weights._ON_THE_HUB.values()} <= {*named_weights._PATHS}


# A process of its own: huggingface_hub reads its environment when it is imported.

_PRINT_PATH = """
import sys
from bert_common.errors import UserError
from modeling.checkpoints.named_weights import check_checkpoint_there, local_path
try:
  check_checkpoint_there(sys.argv[1])
  print(local_path(sys.argv[1]))
except UserError as error:
  print(f"error: {error}")
assert "tensorflow" not in sys.modules
"""


def environment(tmp_path, server, **more):
  kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
  return {**kept, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HF_HOME": str(tmp_path / "hub"),
          MIRROR_VARIABLE: server.url, "HF_ENDPOINT": server.url, "HF_HUB_DOWNLOAD_TIMEOUT": "1",
          "HF_HUB_ETAG_TIMEOUT": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_UPDATE_CHECK": "1", **more}


def path_of(name, tmp_path, server, **more):
  """What a process prints: the path, or the error."""
  done = subprocess.run([sys.executable, "-c", _PRINT_PATH, name], cwd=_PROJECT, capture_output=True, text=True,
                        env=environment(tmp_path, server, **more))
  assert done.returncode == 0, done.stderr
  return done.stdout.strip().splitlines()[-1]


@pytest.fixture
def hub(server, tmp_path, golden):
  pytest.importorskip("huggingface_hub")
  folder = write_huggingface(tmp_path / "model", random_weights("masked_lm"))
  files = {path.name: path.read_bytes() for path in folder.iterdir()}
  server.model = {**files, "vocab.txt": b"[PAD]\n[UNK]\n", "README.md": b"#", "pytorch_model.bin": b"pickle"}
  server.add_model(REPOSITORY, server.model)
  return server


def test_a_model_of_the_hub(hub, tmp_path):
  path = path_of(HUB_NAME, tmp_path, hub)
  assert path.endswith(f"models--some-one--bert-tiny/snapshots/{COMMIT}") and path.startswith(str(tmp_path / "hub"))
  assert sorted(os.listdir(path)) == ["config.json", "model.safetensors", "vocab.txt"]
  assert not hub.asked_for("pytorch_model.bin") and not hub.asked_for("README")
  assert_same(read_all(path), random_weights("masked_lm"))
  hub.requests.clear()
  for offline in ("0", "1"):
    assert path_of(HUB_NAME, tmp_path, hub, HF_HUB_OFFLINE=offline) == path
  assert path_of(f"{HUB_NAME}@{COMMIT}", tmp_path, hub, HF_HUB_OFFLINE="1") == path
  assert hub.requests == []


def test_what_another_program_has_left_out_is_added(hub, tmp_path):
  path = path_of(HUB_NAME, tmp_path, hub)
  os.remove(f"{path}/vocab.txt")
  assert "is not, or not wholly, in the cache" in path_of(HUB_NAME, tmp_path, hub, HF_HUB_OFFLINE="1")
  assert path_of(HUB_NAME, tmp_path, hub) == path
  assert os.path.exists(f"{path}/vocab.txt")


def test_a_transfer_from_the_hub_that_breaks_off(hub, tmp_path):
  hub.breaks[f"/{REPOSITORY}/resolve/{COMMIT}/model.safetensors"] = [1000]
  assert_same(read_all(path_of(HUB_NAME, tmp_path, hub)), random_weights("masked_lm"))


def test_another_sum_than_the_hub_publishes(hub, tmp_path):
  hub.sums["model.safetensors"] = "0" * 64
  hub.add_model(REPOSITORY, hub.model)
  assert "model.safetensors has another SHA-256 than the hub publishes" in path_of(HUB_NAME, tmp_path, hub)
  hub.sums.clear()
  hub.add_model(REPOSITORY, hub.model)
  assert "snapshots" in path_of(HUB_NAME, tmp_path, hub)


def test_weights_of_tensorflow_classes_where_there_are_no_others(hub, tmp_path):
  del hub.model["model.safetensors"]
  hub.add_model(REPOSITORY, {**hub.model, "tf_model.h5": b"h5"})
  assert sorted(os.listdir(path_of(HUB_NAME, tmp_path, hub))) == ["config.json", "tf_model.h5", "vocab.txt"]
  hub.add_model("some-one/pickled", hub.model)
  assert "weights in a pickle are not read" in path_of("hf:some-one/pickled", tmp_path, hub)


def test_errors_of_the_hub_are_one_line(hub, tmp_path):
  assert "is not on the hub, or private: For a private model log in" in path_of("hf:no/thing", tmp_path, hub)
  assert "did you mean hf:google-bert/bert-base-uncased?" in path_of("hf:google-bert/bert-base-uncasd", tmp_path, hub)
  for name in ("hf:a--b/c", "hf:../c"):
    assert path_of(name, tmp_path, hub).startswith(f"error: {name} is no name on Hugging Face's hub: ")
  about = "/api/models/some-one/secret/revision/main"
  hub.statuses[about] = [401] * 9
  assert "log in (`hf auth login`) or set HF_TOKEN" in path_of("hf:some-one/secret", tmp_path, hub)
  offline = path_of("hf:some-one/other", tmp_path, hub, HF_HUB_OFFLINE="1")
  assert "hf:some-one/other is not, or not wholly, in the cache" in offline and "HF_HUB_OFFLINE" in offline
  hub.statuses[about] = [500] * 99
  assert f"can't be downloaded from {hub.url}: HTTP 500" in path_of("hf:some-one/secret", tmp_path, hub)
  hub.statuses[about] = [(403, "GatedRepo")] * 9
  assert "its owner asks for consent: give it on https://huggingface.co/some-one/secret" in path_of(
      "hf:some-one/secret", tmp_path, hub)
  assert "the model has no such revision" in path_of(f"{HUB_NAME}@v2", tmp_path, hub)
  unreachable = path_of("hf:some-one/other", tmp_path, hub, HF_ENDPOINT="http://127.0.0.1:1")
  assert "can't be downloaded from http://127.0.0.1:1: " in unreachable and "refused" in unreachable


def test_without_huggingface_hub(tmp_path, server):
  (tmp_path / "without").mkdir()
  (tmp_path / "without/huggingface_hub.py").write_text("raise ImportError")
  assert "huggingface_hub is not installed: pip install 'bert-tf[hub]'" in path_of(
      HUB_NAME, tmp_path, server, PYTHONPATH=str(tmp_path / "without"))


# In scripts.


def test_scripts_take_names(hub, golden, tmp_path):
  def script(*arguments):
    return subprocess.run([sys.executable, *arguments], cwd=_PROJECT, capture_output=True, text=True,
                          env=environment(tmp_path, hub))
  done = script("convert_checkpoint.py", f"--input={NAME}", "--output_format=native", f"--output={tmp_path / 'out'}")
  assert done.returncode == 0, done.stderr
  assert_same(read_all(tmp_path / "out"), read_all(golden / "tf1_checkpoint"))
  assert read_checkpoint(str(tmp_path / "out")).do_lower_case is True
  done = script("fill_mask.py", "--init_checkpoint=google:uncased_L-2_H-129_A-2", "It [MASK].")
  assert done.returncode == 2 and done.stderr.startswith("error: google:uncased_L-2_H-129_A-2 is unknown: did you mean")
  assert done.stderr.count("\n") == 1
