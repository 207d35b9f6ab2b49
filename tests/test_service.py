"""The service of docs/spreadsheet.md, as it stands there."""

import http.client
import http.server
import json
import re
import socket
import threading

import pytest

from tests.page_commands import PROJECT
from tests.tiny import write_tiny


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    write_tiny(folder / "out", "classification")
    page = (PROJECT / "docs/spreadsheet.md").read_text()
    (program,) = re.findall(r"```\n(import http\.server\n.*?)```", page, re.DOTALL)
    program, _, last_line = program.rpartition("\n\n\n")
    assert "Service).serve_forever()" in last_line
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(program, names)
    service = names["Service"]
    assert service.timeout == 10
    # The test need not wait as long, and its lines are no output of the suite.
    service.timeout, service.log_message = 0.3, lambda *_: None
    with http.server.HTTPServer(("127.0.0.1", 0), service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address
        server.shutdown()


def post(address, body: bytes, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*address, timeout=30)
    connection.request("POST", "/", body, headers)
    with connection.getresponse() as response:
        return response.status, response.read()


def test_a_bad_line_costs_its_own_answer(address):
    status, body = post(address, b"the array\n\nthe list\n")
    answers = [json.loads(line) for line in body.splitlines()]
    assert status == 200 and ["error" in answer for answer in answers] == [False, True, False]


@pytest.mark.parametrize("length", ["1000001", "-1"])
def test_a_body_of_more_than_the_largest_size_is_not_read(address, length):
    assert post(address, b"", **{"Content-Length": length})[0] == 413


def test_a_silent_client_does_not_keep_the_others_waiting(address):
    with socket.create_connection(address) as silent:
        silent.sendall(b"POST / HTTP/1.0\r\nContent-Length: 9\r\n\r\nhalf")
        assert post(address, b"the array\n")[0] == 200
        assert silent.recv(1) == b""
