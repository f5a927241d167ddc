"""A notebook for the exhibits' tests."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from gpt2_edu.machine.display import Exhibit


@pytest.fixture
def notebook(monkeypatch) -> list[str]:
    """What a notebook without a kernel displays when it is set up; the set-up is undone after the
    test."""

    def shell() -> Mock:
        mock = Mock()
        del mock.kernel
        return mock

    shown: list[str] = []
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    monkeypatch.setattr(Exhibit, "style", "")
    monkeypatch.setattr("IPython.get_ipython", shell)
    monkeypatch.setattr("IPython.display.display", lambda item: shown.append(item.data))
    return shown
