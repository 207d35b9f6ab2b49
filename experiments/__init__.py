"""The tables and figures of the paper, one script each; `runner/` is what they share.
docs/experiments.md explains."""
