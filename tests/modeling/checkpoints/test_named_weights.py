"""Weights by name, of a server on the loopback that plays Google's storage, and of
huggingface_hub."""

import contextlib
import http.server
import io
import os
import shutil
import sys
import threading
import types
import zipfile

import pytest

from bert_common.errors import UserError
from modeling.checkpoints import named_weights
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.checkpoints.named_weights import MIRROR_VARIABLE, check_checkpoint_there, local_path
from modeling.encoder import BertEncoder
from tests.modeling.checkpoints.common import (
    assert_same,
    random_weights,
    read_all,
    write_huggingface,
)
from tests.refusals import assert_refused

NAME, PATH = "google:uncased_L-2_H-128_A-2", "/2020_02_20/uncased_L-2_H-128_A-2"
HUB_NAME = "hf:some-one/bert-tiny"


def zipped(folder, prefix=""):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, prefix + path.name)
    return data.getvalue()


@pytest.fixture
def server(golden, tmp_path, monkeypatch):
    """Files by path and the paths asked for; has the golden checkpoint as the smallest of Google's
    models."""
    plan = types.SimpleNamespace(
        files={PATH + ".zip": zipped(golden / "tf1_checkpoint")}, requests=[]
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            plan.requests.append(self.path)
            content = plan.files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *unused):
            pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        monkeypatch.setenv(MIRROR_VARIABLE, f"http://127.0.0.1:{one.server_port}")
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield plan
        one.shutdown()


@pytest.fixture
def cached(tmp_path):
    return tmp_path / "cache/bert-tf" / PATH[1:]


def refused(name, *messages):
    assert_refused(lambda: read_checkpoint(name), *messages)


@pytest.mark.parametrize("prefix", ["", "uncased_L-2_H-128_A-2/"])
def test_a_release_is_downloaded_once_and_read(server, golden, cached, prefix, capsys):
    server.files[PATH + ".zip"] = zipped(golden / "tf1_checkpoint", prefix)
    # What a process that was killed has left.
    (cached.parent / ".download.a_b_c_d_.bert-tf.tmp/x").mkdir(parents=True)
    source = read_checkpoint(NAME)
    assert source.do_lower_case is True and source.vocab_file == str(cached / "vocab.txt")
    assert_same(read_all(NAME), read_all(golden / "tf1_checkpoint"))
    assert BertEncoder.from_checkpoint(NAME).config == source.config
    assert len(server.requests) == 1
    assert sorted(os.listdir(cached.parent)) == [cached.name, f"{cached.name}.zip.sha256"]
    assert capsys.readouterr().out == ""


def test_a_date_chooses_among_models_of_one_name(server, golden):
    server.files = {"/2020_02_20/uncased_L-12_H-768_A-12.zip": zipped(golden / "tf1_checkpoint")}
    assert local_path("google:2020_02_20/uncased_L-12_H-768_A-12").endswith(
        "2020_02_20/uncased_L-12_H-768_A-12"
    )
    refused("google:uncased_L-12_H-768_A-12", "/2018_10_18/uncased_L-12_H-768_A-12.zip: ", "404")


def test_offline_from_the_cache(server, monkeypatch, cached):
    read_checkpoint(NAME)
    monkeypatch.setenv(MIRROR_VARIABLE, "file:///nowhere")
    read_checkpoint(NAME)
    refused(
        "google:uncased_L-4_H-256_A-4",
        f"google:uncased_L-4_H-256_A-4 is not in the cache, {cached.parent}",
        "can't be downloaded from file:///nowhere/2020_02_20/uncased_L-4_H-256_A-4.zip: ",
    )
    monkeypatch.setenv(MIRROR_VARIABLE, "http://me:secret@mirror/bert")
    refused(
        "google:uncased_L-4_H-256_A-4",
        "BERT_TF_WEIGHTS_URL: an address without user and password is expected",
    )


@pytest.mark.parametrize("content", [b"<html>Log in to this network</html>", "cut", "other"])
def test_what_is_no_release_is_neither_kept_nor_recorded(server, tmp_path, cached, content):
    right = server.files[PATH + ".zip"]
    if content == "other":
        (tmp_path / "a").mkdir()
        (tmp_path / "a/readme.txt").write_text("x")
        content = zipped(tmp_path / "a")
    server.files[PATH + ".zip"] = right[:1000] if content == "cut" else content
    refused(NAME, f"{PATH}.zip: it holds no bert_config.json with a vocab.txt beside it")
    assert os.listdir(cached.parent) == []
    server.files[PATH + ".zip"] = right
    read_checkpoint(NAME)


def test_an_archive_is_unpacked_below_one_directory(server, tmp_path, cached):
    data = io.BytesIO(server.files[PATH + ".zip"])
    with zipfile.ZipFile(data, "a") as file:
        for name in ("../outside", "../../../../outside", f"{tmp_path}/outside"):
            file.writestr(name, "x")
    server.files[PATH + ".zip"] = data.getvalue()
    # Some versions of Keras refuse the archive.
    with contextlib.suppress(UserError):
        read_checkpoint(NAME)
    assert {path.parent for path in tmp_path.rglob("outside")} <= {
        path for path in (cached, *cached.rglob("*")) if path.is_dir()
    }


def test_a_later_download_must_be_what_the_first_was(server, golden, cached):
    read_checkpoint(NAME)
    shutil.rmtree(cached)
    server.files[PATH + ".zip"] = zipped(golden / "tf1_checkpoint", "other/")
    refused(NAME, "file hash does not match")
    assert not cached.exists()
    open(f"{cached}.zip.sha256", "w").close()
    read_checkpoint(NAME)


def test_a_vocabulary_that_was_edited_in_the_cache_is_refused(server, cached):
    tokens = open(read_checkpoint(NAME).vocab_file).read().split("\n")
    (cached / "vocab.txt").write_text("\n".join([*tokens[:5], *reversed(tokens[5:-1]), ""]))
    with pytest.raises(
        UserError, match="is not the vocabulary that the weights beside it were trained with"
    ):
        open_checkpoint(NAME)


def test_names_that_are_not_there_have_a_suggestion(monkeypatch):
    refused(
        "google:uncased_L-12_H-786_A-12",
        "did you mean google:uncased_L-12_H-768_A-12? the names are",
    )
    refused(
        "google:2018_10_18/cased_L-12_H-768_A12",
        "did you mean google:2018_10_18/cased_L-12_H-768_A-12?",
    )
    refused("hf:bert-base-uncased", "did you mean hf:google-bert/bert-base-uncased?")
    refused("hf:a/b/c", "hf:OWNER/NAME is expected")
    refused(
        "google-bert/bert-base-uncased",
        "give hf:google-bert/bert-base-uncased or google:uncased_L-12_H-768_A-12",
    )
    refused("wwm_cased_L-24_H-1024_A-16", "give google:wwm_cased_L-24_H-1024_A-16")
    refused(
        "not/there",
        "there is no checkpoint not/there: neither a directory nor not/there.index exists",
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    refused(
        HUB_NAME,
        "needs the package huggingface_hub: pip install '.[hub]'",
    )


def test_other_paths_stay_what_they_are(tmp_path, monkeypatch):
    for path in ("gs://bucket/bert", "ram://hf:x", "a/hf:b", "c:d", "./google:x", "tiny:1"):
        assert local_path(path) == path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "google:x").mkdir()
    check_checkpoint_there("./google:x")


def test_there_are_24_small_models_and_all_of_2018_and_2019():
    assert (
        len([path for path in named_weights._PATHS.values() if path.startswith("2020_02_20/")])
        == 23 + 24
    )
    assert {*named_weights._ON_THE_HUB.values()} <= {*named_weights._PATHS}


# Hugging Face's hub: what is asked of huggingface_hub.


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A model on the hub, which fills the cache file by file; and what was asked for."""
    huggingface_hub = pytest.importorskip("huggingface_hub")
    model = write_huggingface(tmp_path / "model", random_weights("masked_lm"))
    (model / "vocab.txt").write_text("[PAD]\n[UNK]\n")
    plan = types.SimpleNamespace(model=model, cache=tmp_path / "snapshot", calls=[], error=None)

    def snapshot_download(repository, *, revision, allow_patterns, local_files_only=False):
        plan.calls.append((repository, revision, local_files_only))
        if local_files_only and not plan.cache.exists():
            raise huggingface_hub.errors.LocalEntryNotFoundError("nothing there")
        if plan.error and not local_files_only:
            raise plan.error
        plan.cache.mkdir(exist_ok=True)
        for path in [] if local_files_only else model.iterdir():
            if path.name in allow_patterns:
                shutil.copy(path, plan.cache)
        return str(plan.cache)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    named_weights._hub_model.cache_clear()
    yield plan
    named_weights._hub_model.cache_clear()


def test_a_model_of_the_hub(hub):
    (hub.model / "pytorch_model.bin").write_bytes(b"pickle")
    assert_same(read_all(HUB_NAME), random_weights("masked_lm"))
    assert sorted(os.listdir(hub.cache)) == ["config.json", "model.safetensors", "vocab.txt"]
    assert hub.calls == [("some-one/bert-tiny", None, True), ("some-one/bert-tiny", None, False)]
    hub.calls.clear()
    hub.error = OSError("offline")
    named_weights._hub_model.cache_clear()
    read_checkpoint(HUB_NAME)
    local_path(f"{HUB_NAME}@refs/pr/1")
    assert hub.calls == [
        ("some-one/bert-tiny", None, True),
        ("some-one/bert-tiny", "refs/pr/1", True),
    ]


def test_weights_of_tensorflow_classes_where_there_are_no_others(hub):
    (hub.model / "model.safetensors").rename(hub.model / "tf_model.h5")
    assert sorted(os.listdir(local_path(HUB_NAME))) == ["config.json", "tf_model.h5", "vocab.txt"]
    shutil.rmtree(hub.cache)
    named_weights._hub_model.cache_clear()
    (hub.model / "tf_model.h5").rename(hub.model / "pytorch_model.bin")
    refused(HUB_NAME, "weights in a pickle are not read")


def test_errors_of_the_hub_are_one_line(hub):
    hub.error = OSError("404 Client Error.\n\nRepository Not Found for url: https://x")
    refused(
        HUB_NAME,
        "hf:some-one/bert-tiny is not, or not wholly, in the cache",
        "Not Found for url: https://x",
        "hf auth login",
    )
