"""The machine that we run on: devices, files on its disk, what it reaches, what it can do."""
