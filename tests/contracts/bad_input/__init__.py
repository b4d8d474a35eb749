"""The cases of the bad-input matrix, a file for each kind of input."""
