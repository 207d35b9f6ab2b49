"""A web server on the loopback that plays hosts of weights: Google's storage and Hugging Face's hub."""

import contextlib
import hashlib
import http.server
import json
import re
import threading
import time

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class WeightsServer:
  """Files by path, what is wrong with their transfer, and the requests that came.

  Attributes:
    url: of the server.
    files: path → content.
    redirects: path → path or address.
    statuses: path → statuses of the next answers, afterwards the file is sent; or (status, the hub's code).
    breaks: path → bytes after which each of the next transfers breaks off.
    stalls: path → place in the file from which on nothing is sent.
    sums: path on the hub → SHA-256 that it publishes, if not the right one.
    has_ranges: whether a part of a file may be asked for.
    version: entity tag of all files.
    requests: (method, path, Range) of each.
  """

  def __init__(self):
    self.files, self.redirects, self.statuses, self.breaks, self.stalls, self.sums = {}, {}, {}, {}, {}, {}
    self.has_ranges, self.version, self.requests, self.delay = True, '"1"', [], 0.0
    self.url, self.over = "", threading.Event()

  def add_model(self, repository, files):
    """A model of the hub; a file with weights has its SHA-256 published."""
    for name, content in files.items():
      self.files[f"/{repository}/resolve/{COMMIT}/{name}"] = content
    self.files |= {f"/api/models/{repository}/revision/main": json.dumps({"id": repository, "sha": COMMIT}).encode(),
                   f"/api/models/{repository}/tree/{COMMIT}": json.dumps([
                       self._entry(name, content) for name, content in files.items()]).encode()}

  def _entry(self, name, content):
    entry = {"type": "file", "path": name, "size": len(content), "oid": git_sha1(content)}
    if name.endswith((".safetensors", ".h5", ".bin")):
      entry["lfs"] = {"oid": self.sums.get(name, hashlib.sha256(content).hexdigest()), "size": len(content),
                      "pointerSize": 1}
    return entry

  def asked_for(self, text):
    """The requests whose path holds a text."""
    return [request for request in self.requests if text in request[1]]


def git_sha1(content):
  return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
  protocol_version = "HTTP/1.1"

  @property
  def plan(self) -> WeightsServer:
    return self.server.plan

  def do_HEAD(self):
    self._answer(False)

  def do_GET(self):
    self._answer(True)

  def log_message(self, *unused):
    pass

  def _answer(self, with_content):
    plan, path = self.plan, self.path.partition("?")[0]
    plan.requests.append((self.command, path, self.headers.get("Range")))
    time.sleep(plan.delay)
    if path in plan.redirects:
      return self._empty(302, Location=plan.redirects[path])
    if plan.statuses.get(path):
      status, code = one if isinstance(one := plan.statuses[path].pop(0), tuple) else (one, None)
      return self._empty(status, **{"X-Error-Code": code} if code else {})
    if path not in plan.files:
      model = path.partition("/revision/")[0]
      code = "RevisionNotFound" if f"{model}/revision/main" in plan.files else "RepoNotFound"
      return self._empty(404, **{"X-Error-Code": code} if path.startswith("/api/") else {})
    self._send(path, plan.files[path], with_content)

  def _empty(self, status, **headers):
    self.send_response(status)
    for name, value in {"Content-Length": "0", **headers}.items():
      self.send_header(name, value)
    self.end_headers()

  def _send(self, path, content, with_content):
    plan, start = self.plan, 0
    match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
    if match and plan.has_ranges and self.headers.get("If-Range", plan.version) == plan.version:
      start = int(match[1])
      if start >= len(content):
        return self._empty(416, **{"Content-Range": f"bytes */{len(content)}"})
    self.send_response(206 if start else 200)
    self.send_header("Content-Length", str(len(content) - start))
    if "/resolve/" in path:
      self.send_header("X-Repo-Commit", COMMIT)
      self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
    else:
      self.send_header("ETag", plan.version)
    if start:
      self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    self.end_headers()
    if with_content:
      self._send_content(path, content[start:], start)

  def _send_content(self, path, content, start):
    plan = self.plan
    if plan.breaks.get(path):
      self.wfile.write(content[:plan.breaks[path].pop(0)])
      self.close_connection = True
    elif path in plan.stalls:
      self.wfile.write(content[:max(plan.stalls[path] - start, 0)])
      plan.over.wait(60)
      self.close_connection = True
    else:
      self.wfile.write(content)


class _Server(http.server.ThreadingHTTPServer):
  daemon_threads = True

  def handle_error(self, *unused):
    """A client that has gone is no error of the server's."""


@contextlib.contextmanager
def serving():
  """A `WeightsServer` that runs until the block ends."""
  plan = WeightsServer()
  with _Server(("127.0.0.1", 0), _Handler) as server:
    server.plan, plan.url = plan, f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
      yield plan
    finally:
      plan.over.set()
      server.shutdown()
      thread.join()
