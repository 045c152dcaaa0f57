"""Token files: documents encoded once, to be read by training frameworks as arrays of ids.

formats.py is the table of formats; settings.py says what else decides a token file, and what is written beside it.
encoding.py makes one: worker threads encode the documents to parts (parts.py), and output.py turns these
into the files. reading.py opens them, joining.py makes one of several, and verifying.py checks one.
"""
