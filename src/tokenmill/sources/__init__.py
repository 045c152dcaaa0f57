"""Sources: files, folders, globs and URLs to documents."""
