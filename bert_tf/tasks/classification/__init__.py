"""Classification of texts and pairs, and regression: GLUE, XNLI and custom files."""
