"""Stories that several tests read."""

from __future__ import annotations

import pytest

from gpt2_edu import crane


@pytest.fixture(scope="session")
def annotated() -> list[crane.AnnotatedStory]:
    return [crane.annotated_story(seed) for seed in range(1000)]


@pytest.fixture(scope="session")
def stories() -> list[str]:
    return [crane.story(seed) for seed in range(5000)]
