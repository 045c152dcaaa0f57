"""Timings against other libraries: one library per fresh process, alternating, with every round kept."""
