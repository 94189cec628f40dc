"""The explorer, tested on a toy, on random models and on what it must refuse."""
