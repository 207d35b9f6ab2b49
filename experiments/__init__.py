"""The tables and figures of the paper, one script each; docs/experiments.md describes them."""
