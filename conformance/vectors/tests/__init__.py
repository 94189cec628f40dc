"""The vectors are complete, can be read without our code, and find what is broken."""
