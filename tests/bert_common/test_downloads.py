import os
import stat
import zipfile

import numpy as np
import pytest

from bert_common import downloads
from bert_common.errors import UserError
from tests.full_disk import full_disk
from tests.weights_server import serving

CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.fixture
def server(monkeypatch):
  monkeypatch.setattr(downloads, "_PAUSE", 0.01)
  with serving() as one:
    one.files["/a.zip"] = CONTENT
    yield one


def fetch(server, path, name="/a.zip", **kwargs):
  downloads.fetch(server.url + name, str(path), **kwargs)
  return path.read_bytes()


def refused(server, path, *messages, name="/a.zip", **kwargs):
  with pytest.raises(UserError) as error:
    fetch(server, path, name, **kwargs)
  for message in messages:
    assert message in str(error.value)


def test_a_file_arrives_by_way_of_redirects(server, tmp_path):
  server.redirects = {"/1": "/2", "/2": server.url + "/a.zip"}
  assert fetch(server, tmp_path / "a", "/1") == CONTENT


def test_a_transfer_that_breaks_off_is_resumed_where_it_was(server, tmp_path):
  server.breaks["/a.zip"] = [100_000, 50_000, 1, 1]
  assert fetch(server, tmp_path / "a") == CONTENT
  assert [asked for _, _, asked in server.requests] == [
      None, "bytes=100000-", "bytes=150000-", "bytes=150001-", "bytes=150002-"]


def test_what_an_earlier_process_has_left_is_completed(server, tmp_path):
  server.breaks["/a.zip"] = [100_000, 0, 0]
  refused(server, tmp_path / "a", "the connection ended after 100,000 of 300,000 bytes", "the same command again")
  server.requests.clear()
  assert fetch(server, tmp_path / "a") == CONTENT
  assert fetch(server, tmp_path / "a") == CONTENT
  assert [asked for _, _, asked in server.requests] == ["bytes=100000-", "bytes=300000-"]


@pytest.mark.parametrize("change", ["another version", "no ranges", "no tag"])
def test_another_file_is_never_appended(server, tmp_path, change):
  if change == "no tag":
    server.version = 'W/"1"'
  server.breaks["/a.zip"] = [100_000, 0, 0]
  refused(server, tmp_path / "a", "100,000" if change != "no tag" else "0 of 300,000")
  server.has_ranges = change != "no ranges"
  server.version = '"2"' if change == "another version" else server.version
  server.files["/a.zip"] = CONTENT[::-1]
  assert fetch(server, tmp_path / "a") == CONTENT[::-1]


def test_a_shorter_file_than_what_is_there(server, tmp_path):
  fetch(server, tmp_path / "a")
  server.files["/a.zip"] = CONTENT[:1000]
  assert fetch(server, tmp_path / "a") == CONTENT[:1000]


def test_a_server_that_sends_nothing_more(server, tmp_path):
  server.stalls["/a.zip"] = 1000
  refused(server, tmp_path / "a", "the server stopped sending", "1,000 bytes are there", longest_silence=0.1)
  del server.stalls["/a.zip"]
  assert fetch(server, tmp_path / "a") == CONTENT


def test_a_server_that_is_busy_is_asked_again(server, tmp_path):
  server.statuses["/a.zip"] = [503, 429]
  assert fetch(server, tmp_path / "a") == CONTENT
  server.statuses["/b"] = [503] * 3
  refused(server, tmp_path / "b", "HTTP 503 Service Unavailable", name="/b")


@pytest.mark.parametrize("status, reason", [(404, "Not Found"), (401, "Unauthorized"), (403, "Forbidden")])
def test_a_refusal_is_an_error_at_once(server, tmp_path, status, reason):
  server.statuses["/a.zip"] = [status] * 9
  refused(server, tmp_path / "a", f"{server.url}/a.zip can't be downloaded: HTTP {status} {reason}")
  assert len(server.requests) == 1


def test_no_server_no_scheme_no_way_to_a_file(server, tmp_path):
  with pytest.raises(UserError, match="can't be downloaded: Connection refused"):
    downloads.fetch("http://127.0.0.1:1/a.zip", str(tmp_path / "a"))
  with pytest.raises(UserError, match="an address that begins with https:// or http:// is expected"):
    downloads.fetch(f"file://{tmp_path}", str(tmp_path / "a"))
  server.redirects["/1"] = "ftp://127.0.0.1/a.zip"
  refused(server, tmp_path / "a", "less safe", name="/1")


def test_the_way_never_becomes_less_safe():
  request = downloads.urllib.request.Request("https://example.org/a")
  with pytest.raises(downloads.urllib.error.URLError, match="less safe"):
    downloads._Redirects().redirect_request(request, None, 302, "", {}, "http://example.org/a")


def test_a_proxy_of_the_environment_is_asked(server, tmp_path, monkeypatch):
  monkeypatch.setenv("http_proxy", server.url)
  monkeypatch.delenv("no_proxy", raising=False)
  server.files["http://weights.example/a.zip"] = b"by way of the proxy"
  downloads.fetch("http://weights.example/a.zip", str(tmp_path / "a"))
  assert (tmp_path / "a").read_bytes() == b"by way of the proxy"


def test_a_full_disk(server, tmp_path):
  with full_disk(1000):
    refused(server, tmp_path / "a", f"can't write {tmp_path / 'a'}", "File too large")


def archive(path, **members):
  with zipfile.ZipFile(path, "w") as file:
    for name, content in members.items():
      file.writestr(name, content)
  return str(path)


def unpack(path, tmp_path):
  os.makedirs(tmp_path / "out", exist_ok=True)
  downloads.unpack(str(path), str(tmp_path / "out"), "a model")


def test_members_are_unpacked(tmp_path):
  path = archive(tmp_path / "a.zip", **{"a/": "", "a/b/c.txt": "C", "d.txt": "D"})
  unpack(path, tmp_path)
  assert (tmp_path / "out/a/b/c.txt").read_text() == "C" and (tmp_path / "out/d.txt").read_text() == "D"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/x", "a\\..\\x", "C:x", "./x", "a//x"])
def test_no_name_leads_out_of_the_directory(tmp_path, name):
  path = archive(tmp_path / "a.zip", good="1", **{name: "evil"})
  with pytest.raises(UserError, match="leads out of its directory"):
    unpack(path, tmp_path)
  assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(tmp_path, kind):
  member = zipfile.ZipInfo("link")
  member.external_attr = (kind | 0o777) << 16
  with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
    file.writestr(member, "/etc/passwd")
  with pytest.raises(UserError, match="a link, a device or encrypted"):
    unpack(tmp_path / "a.zip", tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice(tmp_path):
  with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
    file.writestr("x", "1")
    file.writestr("x", "2")
  with pytest.raises(UserError, match="is in it twice"):
    unpack(tmp_path / "a.zip", tmp_path)


def test_a_file_that_is_also_a_directory(tmp_path):
  with pytest.raises(UserError, match="a model"):
    unpack(archive(tmp_path / "a.zip", **{"x": "1", "x/y": "2"}), tmp_path)


def test_what_becomes_many_times_larger(tmp_path):
  with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
    file.writestr("x", bytes(10**6))
  with pytest.raises(UserError, match="that become 1,000,000"):
    unpack(tmp_path / "a.zip", tmp_path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "no zip"])
def test_a_damaged_archive(tmp_path, damage):
  path = archive(tmp_path / "a.zip", x=CONTENT)
  data = bytearray(open(path, "rb").read())
  if damage == "flipped":
    data[1000] ^= 255
  with open(path, "wb") as file:
    file.write(data[:1000] if damage == "cut" else b"<html>Log in" if damage == "no zip" else data)
  with pytest.raises(UserError, match="the zip file of a model is damaged"):
    unpack(path, tmp_path)


def test_sums_as_sha256sum_reads_them(tmp_path):
  (tmp_path / "a b.txt").write_bytes(b"abc")
  downloads.write_sums(str(tmp_path))
  assert (tmp_path / downloads.SUMS_FILE).read_text() == (
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a b.txt\n")
  assert list(downloads.read_sums(str(tmp_path / downloads.SUMS_FILE))) == ["a b.txt"]
  assert downloads.read_sums(str(tmp_path / "none")) == {}
