"""From continuing to answering: conversations with roles, and LoRA."""

from .conversations import Conversations, conversation
from .lora import LoraConfig, adapters, add_lora, disabled, merge, use_adapter
from .messages import Message, Rendered, example_batch, plain, prompt, render, with_roles
from .peft_files import load_adapter, save_adapter

__all__ = [
    "Conversations",
    "LoraConfig",
    "Message",
    "Rendered",
    "adapters",
    "add_lora",
    "conversation",
    "disabled",
    "example_batch",
    "load_adapter",
    "merge",
    "plain",
    "prompt",
    "render",
    "save_adapter",
    "use_adapter",
    "with_roles",
]
