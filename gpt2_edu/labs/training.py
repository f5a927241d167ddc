"""Chapter 13: start, stop, resume and watch a training run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import tiktoken
import torch

from ..data.prepare import PrepareConfig, prepare
from ..exhibits import COLOURS, Attention, Plot, Tokens
from ..language_model import eval_mode
from ..tape import trace
from ..training.config import LOG, SETTINGS, TrainConfig
from ..training.run_log import read_log
from ..training.trainer import Trainer
from .lab import Lab


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
        encoding: tiktoken.Encoding,
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
        self.trainer: Trainer | None = None
        self.thread: threading.Thread | None = None
        self.rows: list[dict[str, Any]] = []

    def panel(self) -> Any:
        import ipywidgets as widgets

        self.begin = widgets.Button(description="start or go on", icon="play")
        self.end = widgets.Button(description="stop and save", icon="stop")
        self.begin.on_click(lambda button: self.start())
        self.end.on_click(lambda button: self.stop())
        self.status, self.shown = widgets.HTML(), widgets.HTML()
        self.widgets = {"begin": self.begin, "end": self.end}
        log = Path(self.config.out) / LOG
        self.rows = read_log(log) if log.exists() else []
        if self.rows:
            self.draw()
        else:
            self.say(f"{self.config.steps:,} steps, which will stand in {self.config.out}.")
        return widgets.VBox([widgets.HBox([self.begin, self.end]), self.status, self.shown])

    @property
    def running(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def start(self) -> None:
        """Start or resume the run; does nothing if it is running."""
        if self.running:
            return
        if (Path(self.config.out) / SETTINGS).exists():
            self.trainer = Trainer.resume(self.config.out, on_log=self.hear)
        else:
            self.trainer = Trainer(self.config, on_log=self.hear)
        self.say("It begins.")
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Save and stop after the current step."""
        if self.running and self.trainer:
            self.say("It stops after this step, and saves.")
            self.trainer.stop()

    def run(self) -> None:
        assert self.trainer is not None
        try:
            if self.source and not Path(self.config.data).exists():
                self.say("The text is made and tokenized.")
                prepare(
                    PrepareConfig(
                        sources=(self.source,), out=self.config.data, tokenizer=self.encoding.name
                    )
                )
            done = self.trainer.train()
        except Exception as error:  # the thread has no caller to report to
            self.say(str(error) or type(error).__name__)
            return
        how = "It is finished" if done.finished else "It is stopped, and can go on"
        self.say(f"{how}: step {done.step} of {self.config.steps}. Its folder is {self.config.out}")

    def say(self, sentence: str) -> None:
        self.status.value = f"<p><strong>{escape(sentence)}</strong></p>"

    def hear(self, row: Mapping[str, Any]) -> None:
        """Add a row of the log; the trainer calls this between steps."""
        self.rows.append(dict(row))
        self.draw()

    def draw(self) -> None:
        """Display curve, latest sample and attention of the rows so far."""
        shown = [row for row in self.rows if "loss" in row]
        if not shown:
            return
        parts: list[str] = [self.curve(shown)._repr_html_()]
        samples = [row["sample"] for row in self.rows if row.get("sample")]
        if samples:
            parts.append(f'<p style="white-space: pre-wrap">{escape(samples[-1])}</p>')
        if self.running and self.trainer is not None:
            parts.append(self.attention()._repr_html_())
        self.shown.value = "".join(parts)

    def curve(self, rows: list[dict[str, Any]]) -> Plot:
        """A plot of loss, floor and learning rate over the steps."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3), layout="constrained")
        ax = figure.subplots()
        steps = [row["step"] for row in rows]
        ax.plot(steps, [row["loss"] for row in rows], color=COLOURS["weights"], label="training")
        checked = [row for row in self.rows if row.get("val_loss") is not None]
        ax.plot(
            [row.get("step", 0) for row in checked],
            [row["val_loss"] for row in checked],
            "o",
            color=COLOURS["q"],
            label="validation",
        )
        if self.floor is not None:
            ax.axhline(self.floor, color=COLOURS["plain"], ls=":", label="floor")
        ax.set(xlabel="step", ylabel="loss (nats a token)")
        rates = [row.get("lr", 0.0) for row in rows]
        rate = ax.twinx()
        rate.plot(steps, rates, color=COLOURS["machine"], lw=1, label="learning rate")
        rate.set_ylabel("learning rate")
        ax.legend(loc="upper right")
        last = rows[-1]
        return Plot(
            figure,
            f"Step {last['step']} of {self.config.steps}: loss {last['loss']:.3f}.",
            alt="Training and validation loss, and the learning rate, against the steps.",
        )

    def attention(self) -> Attention:
        """The current attention maps of one block on the text."""
        assert self.trainer is not None
        model = self.trainer.model
        ids = [self.encoding.eot_token, *self.encoding.encode_ordinary(self.text)]
        with eval_mode(model), trace(model) as t, torch.no_grad():
            model(torch.tensor([ids], device=model.device))
        return Attention(
            t[f"transformer.h.{self.layer}.attn.weights"][0].float().cpu(),
            Tokens(ids, self.encoding).labels,
            caption=f"Who looks where in block {self.layer} now.",
        )
