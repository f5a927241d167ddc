"""The machine: devices and their rates, files, and what settings and error messages share."""
