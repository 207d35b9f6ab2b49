"""Fixtures of all tests. TensorFlow is imported once for the whole run, by the first test that
needs it."""

import gc
import os
import pathlib
import signal
from unittest import mock

import hypothesis
import pytest

from bert_common import files
from bert_tf import charts
from tests import promises
from tests.golden.values import unpack

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
# On a GPU, too, float32 is float32: TensorFlow would round the factors of products.
os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")

# The same examples in every run, so that none fails by chance. HYPOTHESIS_PROFILE=random draws
# others, as the workflows do; a failure is printed with the code that repeats it.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.register_profile("random", print_blob=True, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests that
# interrupt one need it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a test that compares with golden values takes one of, itself or by way of another fixture.
_GOLDEN_FIXTURES = {"golden", "full_golden", "golden_set"}

PROJECT = pathlib.Path(__file__).resolve().parent.parent


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "pages: runs all commands of README and the tutorial at small sizes: make pages"
    )
    config.addinivalue_line(
        "markers",
        "golden: compares with values that others made, above all the original code; see "
        "docs/exactness.md",
    )
    config.addinivalue_line(
        "markers", "processes: starts processes, kills or waits: may be repeated once, alone"
    )
    config.addinivalue_line("markers", "unknown_metrics: reports metrics that have no chart")
    promises.pytest_configure(config)


def pytest_collection_modifyitems(items):
    # Tests of whole commands stand highest and take longest: they come first, so that at the end
    # neither of two processes waits for the other.
    items.sort(key=lambda item: len(item.path.parts))
    unread = [
        item.nodeid
        for item in items
        if item.get_closest_marker("golden") and not _GOLDEN_FIXTURES & set(item.fixturenames)
    ]
    if unread:
        raise pytest.UsageError(f"marked golden, but reads no golden values: {', '.join(unread)}")


def pytest_collection_finish():
    # What test modules import, TensorFlow above all, stays: garbage is not to be looked for among
    # it.
    gc.freeze()
    # A traced function makes tens of thousands of objects that stay.
    gc.set_threshold(20_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    yield
    if nextitem is None or nextitem.path != item.path:
        # Nor among what is left of a file: TensorFlow keeps the graphs of functions with gradients
        # of their own for good, and the runs of a selection collect garbage one by one, which took
        # seconds each after some dozens of files.
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_inputs_of_an_earlier_test():
    """A script counts what it opens as its inputs, which no test may take over from another."""
    files.register.begin()


@pytest.fixture(autouse=True)
def every_metric_has_a_row(request):
    """Fails a test whose run reports a metric that `bert_tf/charts.py` does not describe."""
    unknown = []
    find = charts.find

    def find_described(name: str) -> charts.Chart:
        chart = find(name)
        if not chart.description:
            unknown.append(name)
        return chart

    with mock.patch.object(charts, "find", find_described):
        yield
    if not request.node.get_closest_marker("unknown_metrics"):
        assert not unknown, f"metrics without a row in bert_tf/charts.py: {unknown}"


@pytest.fixture(scope="session")
def project() -> pathlib.Path:
    return PROJECT


@pytest.fixture(scope="session")
def golden(tmp_path_factory) -> pathlib.Path:
    """Values made by running the original code: the part that belongs to the project
    (tests/golden), unpacked."""
    folder = tmp_path_factory.mktemp("golden")
    unpack(PROJECT / "tests" / "golden", folder)
    return folder


@pytest.fixture(scope="session")
def full_golden() -> pathlib.Path:
    """All values made by running the original code, under the same names; users do not have
    them."""
    return _shared("golden")


@pytest.fixture(scope="session", params=["golden", "full_golden"])
def golden_set(request) -> pathlib.Path:
    """The project's values, and once more all of them: for tests that gain from more of the same
    kind."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def real_data() -> pathlib.Path:
    """Real texts and labeled sets; users do not have them."""
    return _shared("data")


def _shared(name: str) -> pathlib.Path:
    folder = PROJECT.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"needs ../shared/{name}, which is not part of the project")
    return folder
