"""Stands in for Colab's Drive: a folder."""

from pathlib import Path


def mount(mountpoint: str) -> None:
    Path(mountpoint, "MyDrive").mkdir(parents=True, exist_ok=True)
