"""Judge and change vocabularies: IoS and junk, unreachable tokens, compression, comparison; prune and extend."""
