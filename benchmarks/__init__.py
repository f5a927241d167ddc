"""Side-by-side measurements of speed and memory. Scripts, not part of the package."""

import sys
from unittest import mock

try:
    import tiktoken  # noqa: F401
except ImportError:  # a machine that was lent for its GPU has torch and little else
    for name in ("tiktoken", "tiktoken.load"):  # no benchmark reads text
        sys.modules[name] = mock.MagicMock()
