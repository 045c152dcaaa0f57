"""The kernels that merge one pretoken to ids."""
