"""Pre-training: masked LM and next sentence, or next token."""
