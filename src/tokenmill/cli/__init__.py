"""The command line: options and messages, no logic."""
