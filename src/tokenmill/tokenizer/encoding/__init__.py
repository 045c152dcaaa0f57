"""The kernels that encode text: added tokens, the pretoken cache, batches."""
