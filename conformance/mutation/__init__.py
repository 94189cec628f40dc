"""Does each test notice what it is there for? The mutants, and the kill matrix: which test fails with which mutant."""
