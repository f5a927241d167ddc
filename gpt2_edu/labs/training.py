"""Chapter 13: start, stop, resume and watch a training run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import torch
from matplotlib.figure import Figure

from ..data.prepare import PrepareConfig, prepare
from ..exhibits import COLOURS, Attention, Plot, Tokens
from ..language_model import eval_mode
from ..machine.display import Exhibit
from ..tape import trace
from ..tokenizer import Encoding
from ..training.config import LOG, SETTINGS, TrainConfig
from ..training.run_log import read_log
from ..training.trainer import Trainer
from .lab import Lab, ids_of


class Training(Lab):
    """Starts, stops and resumes a run, and shows loss, learning rate, samples and attention.

    config: the run's. encoding: its tokenizer. source: the source of the shards in ``config.data``
    if they do not exist yet, such as "crane:2000". text: the input of the attention maps. floor:
    the lowest possible loss, if known. layer: the block whose attention is shown. Other
    arguments are those of ``Live``.
    """

    def __init__(
        self,
        config: TrainConfig,
        encoding: Encoding,
        *,
        text: str,
        source: str | None = None,
        floor: float | None = None,
        layer: int = 0,
        **live: Any,
    ) -> None:
        super().__init__("snapshots", floor=floor, **live)
        self.config, self.encoding, self.text = config, encoding, text
        self.source, self.floor, self.layer = source, floor, layer
        self.trainer: Trainer | None = None  # of the run that is going on
        self.thread: threading.Thread | None = None
        log = Path(config.out) / LOG
        self.rows: list[dict[str, Any]] = read_log(log) if log.exists() else []

    def controls(self) -> Mapping[str, Any]:
        begin = widgets.Button(description="start or go on", icon="play")
        end = widgets.Button(description="stop and save", icon="stop")
        begin.on_click(lambda button: self.start())
        end.on_click(lambda button: self.stop())
        return {"begin": begin, "end": end}

    def start(self) -> None:
        """Start or resume the run, in a thread; does nothing if it is running."""
        if self.trainer is not None:
            return
        if (Path(self.config.out) / SETTINGS).exists():
            self.trainer = Trainer.resume(self.config.out, on_log=self.hear)
        else:
            self.trainer = Trainer(self.config, on_log=self.hear)
        self.thread = threading.Thread(target=self.run, args=[self.trainer], daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Save and stop after the current step."""
        if self.trainer is not None:
            self.say("It stops after this step, and saves.")
            self.trainer.stop()

    def run(self, trainer: Trainer) -> None:
        self.say("It begins.")
        try:
            if self.source and not Path(self.config.data).exists():
                self.say("The text is made and tokenized.")
                sources, name = (self.source,), self.encoding.name
                prepare(PrepareConfig(sources=sources, out=self.config.data, tokenizer=name))
            done = trainer.train()
            how = "It is finished" if done.finished else "It is stopped, and can go on"
            self.say(f"{how}: step {done.step} of {self.config.steps}, in {self.config.out}")
        except Exception as error:  # the thread has no caller to report to
            self.say(str(error) or type(error).__name__)
        finally:
            self.trainer = None

    def hear(self, row: Mapping[str, Any]) -> None:
        """Add a row of the log; the trainer calls this between steps."""
        self.rows.append(dict(row))
        self.update()

    def update(self) -> None:
        """Display curve, latest sample and attention of the rows so far."""
        steps = [row for row in self.rows if "loss" in row]
        if not steps:
            self.say(f"{self.config.steps:,} steps, which will stand in {self.config.out}.")
            return
        outputs: list[Exhibit | str] = [self.curve(steps)]
        outputs += [row["sample"] for row in self.rows if row.get("sample")][-1:]
        if self.trainer is not None:
            outputs.append(self.attention(self.trainer))
        self.display(outputs)

    def curve(self, steps: list[dict[str, Any]]) -> Plot:
        """A plot of loss, floor and learning rate over the steps."""
        figure = Figure(figsize=(6, 3), layout="constrained")
        ax = figure.subplots()
        rate = ax.twinx()
        x = [row["step"] for row in steps]
        checked = [row for row in self.rows if row.get("val_loss") is not None]
        ax.plot(x, [row["loss"] for row in steps], color=COLOURS["weights"], label="training")
        ax.plot(
            [row.get("step", 0) for row in checked],
            [row["val_loss"] for row in checked],
            "o",
            color=COLOURS["q"],
            label="validation",
        )
        if self.floor is not None:
            ax.axhline(self.floor, color=COLOURS["plain"], ls=":", label="floor")
        rate.plot(x, [row.get("lr", 0.0) for row in steps], color=COLOURS["machine"], lw=1)
        ax.set(xlabel="step", ylabel="loss (nats a token)")
        rate.set_ylabel("learning rate")
        ax.legend(loc="upper right")
        return Plot(
            figure,
            f"Step {x[-1]} of {self.config.steps}: loss {steps[-1]['loss']:.3f}.",
            alt="Training and validation loss, and the learning rate, against the steps.",
        )

    def attention(self, trainer: Trainer) -> Attention:
        """The current attention maps of one block on the text."""
        model, ids = trainer.model, ids_of(self.text, self.encoding)
        with eval_mode(model), trace(model) as t, torch.no_grad():
            model(torch.tensor([ids], device=model.device))
        return Attention(
            t[f"transformer.h.{self.layer}.attn.weights"][0].float().cpu(),
            Tokens(ids, self.encoding).labels,
            caption=f"Who looks where in block {self.layer} now.",
        )
