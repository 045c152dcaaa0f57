"""The code that the compiled kernels share."""
