"""A model in one file, as the book's pages save it: config and tokenizer are in its header.

``gpt2-edu export --page`` writes such a file, and so does the page on which a model is trained. Its
tensors are those of every model.safetensors.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from .hub import CONFIG, WEIGHTS
from .tokenizer import IN_HEADER, RANKS, header_texts, load_tokenizer, save_ranks


def unpacked(path: Path) -> Path:
    """A folder with the config, the weights and the tokenizer of such a file.

    It is temporary, and its weights are a link to the file where the system has links. Raises
    FileNotFoundError if there is no such file, and ValueError if its header has no config or cannot
    be read.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    texts = header_texts(path)
    config = texts.get(f"{IN_HEADER}.config")
    if config is None:
        raise ValueError(
            f"{path} has no config in its header: give the folder of its {CONFIG}, or write the "
            "file with gpt2-edu export --page"
        )
    encoding = load_tokenizer(path) if f"{IN_HEADER}.merges" in texts else None
    folder = Path(tempfile.mkdtemp(prefix=f"{path.stem[:50]}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / CONFIG).write_text(config, encoding="utf-8")
    if encoding is not None:
        save_ranks(encoding._mergeable_ranks, folder / RANKS)
    try:
        (folder / WEIGHTS).symlink_to(path.absolute())
    except OSError:  # Windows lets few users make links
        shutil.copyfile(path, folder / WEIGHTS)
    return folder
