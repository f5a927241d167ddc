"""How the pages are made: Sphinx extensions, and what writes files from the chapters."""
