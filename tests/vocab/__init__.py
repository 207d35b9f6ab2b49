"""Tests of vocab/."""
