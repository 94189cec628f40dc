"""The compiler, tested on small machines of its own and on those of the specification."""
