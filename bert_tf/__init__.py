"""What the scripts are made of, see docs/architecture.md. The library is `modeling` and `data_gen`."""

__version__ = "1.0.0"
