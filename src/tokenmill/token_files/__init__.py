"""Token files: documents encoded once, to be read by training frameworks as arrays of ids.

formats.py is the table of formats; settings.py has the other settings of a token file, and its metadata. encoding.py
creates one: threads encode the documents to folders (encoded_folder.py), and output.py converts these to the files.
reading.py opens token files, joining.py joins several, and verifying.py checks one.
"""
