"""What the scripts are made of, see docs/architecture.md. The library is in `modeling` and `data_gen`."""
