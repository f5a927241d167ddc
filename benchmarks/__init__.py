"""Side-by-side measurements of speed and memory. Scripts, not part of the package."""
