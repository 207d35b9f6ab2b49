"""Multiple choice: SWAG, HellaSwag, CODAH and custom files."""
