"""Forked kernels for nbval: torch is imported once, and not by each of fifty notebooks.

`make nbval` loads this plugin. Each notebook still gets a process of its own, in which the modules
below are loaded and have done nothing yet.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from multiprocessing.connection import Connection
from typing import Any

import jupyter_client.provisioning.local_provisioner

sys.modules["rfc3987_syntax"] = None  # jsonschema builds its grammar for a second, for nothing here
MODULES = (
    "ipykernel.kernelapp",
    "matplotlib.backends.backend_svg",
    "matplotlib_inline.backend_inline",
    "torch._dynamo",  # the first optimiser and the first assert_close import it, for a second
    "gpt2_edu.exercises",
    "gpt2_edu.labs",
)
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(list(MODULES))


def serve(begun: Connection, command: list[str], folder: str, env: dict[str, str]) -> None:
    """Become the process that this command would start."""
    os.setsid()  # Jupyter kills a kernel's group
    begun.send(True)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.chdir(folder)
    os.environ.update(env)
    _, _, module, *sys.argv[1:] = command  # python -m ipykernel_launcher …
    runpy.run_module(module, run_name="__main__", alter_sys=True)


class Kernel(SERVER.Process):
    """A forked process, with the methods of Popen that Jupyter calls."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, signal: int) -> None:
        os.kill(self.pid, signal)


def launch_kernel(command: list[str], *, cwd: str, env: dict[str, str], **_: Any) -> Kernel:
    waiting, begun = SERVER.Pipe(duplex=False)
    kernel = Kernel(target=serve, args=(begun, command, cwd, env), daemon=True)
    kernel.start()
    waiting.recv()
    return kernel


jupyter_client.provisioning.local_provisioner.launch_kernel = launch_kernel
