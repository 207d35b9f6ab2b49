"""From raw text and labelled files to token ids, records and arrays. Nothing here imports a model."""
