"""Exhibits, one after the other on the same page: a package, for the page is its fixture."""
