"""Fixtures of all tests. TensorFlow is imported once for the whole run, by the first test that needs it."""

import os
import pathlib

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

PROJECT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def project() -> pathlib.Path:
  """The root of the project."""
  return PROJECT


@pytest.fixture(scope="session")
def golden() -> pathlib.Path:
  """Values made by running the original code; users do not have them."""
  return _shared("golden")


@pytest.fixture(scope="session")
def real_data() -> pathlib.Path:
  """Real vocabularies, texts and labelled sets; users do not have them."""
  return _shared("data")


def _shared(name: str) -> pathlib.Path:
  folder = PROJECT.parent / "shared" / name
  if not folder.is_dir():
    pytest.skip(f"needs ../shared/{name}, which is not part of the project")
  return folder
