"""Token files: documents encoded once, to be read by trainers as arrays of ids.

settings.py says what a token file is, and what is written beside it. encoding.py makes one: worker threads encode the
documents (documents.py) to parts (parts.py), and output.py turns these into the files. reading.py opens them.
"""
