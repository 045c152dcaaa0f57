"""Timings beside the peers: one library per fresh process, in turn, every round kept."""
