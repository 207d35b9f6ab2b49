"""Token classification, such as named entities; fine-tuned and feature-based."""
