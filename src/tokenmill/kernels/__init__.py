"""What the compiled kernels share."""
