import numpy as np
import pytest
from scipy import special

from modeling.activations import activation

X = np.linspace(-6, 6, 1001)
TANH_FORM = 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X ** 3)))
ERF_FORM = 0.5 * X * (1 + special.erf(X / np.sqrt(2)))


@pytest.mark.parametrize("name, expected", [
    ("gelu", TANH_FORM),
    ("gelu_new", TANH_FORM),
    ("gelu_erf", ERF_FORM),
    ("relu", np.maximum(X, 0)),
    ("tanh", np.tanh(X)),
    ("linear", X),
])
def test_activations_compute_what_they_are_called(name, expected):
  # The two forms of gelu differ by up to 5e-4.
  np.testing.assert_allclose(activation(name)(X.astype(np.float32)), expected, rtol=0, atol=2e-6)
