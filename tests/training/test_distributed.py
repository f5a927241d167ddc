"""Two ranks compute what one computes, and a run may move between them.

All runs on two ranks are done once, by tests/training/two_ranks.py.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch.nn.parallel import DistributedDataParallel

from gpt2_edu import generate
from gpt2_edu.trainer import Trainer
from gpt2_edu.training import distributed
from gpt2_edu.training.checkpoint import checkpoints
from gpt2_edu.training.config import LOG
from gpt2_edu.training.distributed import Ranks, distribute, micro_step, process_group
from gpt2_edu.training.run_log import read_log
from tests.forked import FORKED
from tests.training import two_ranks
from tests.training.small_run import press_ctrl_c, result, small_config
from tests.training.two_ranks import LLAMA, TWO_RANKS
from tests.tuning import chats

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ALONE = Ranks(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory):
    """The folder with the runs of two ranks, and the same runs on one."""
    folder = tmp_path_factory.mktemp("runs")
    for name, accum in (("single", 2), ("single-4", 4), ("single-8", 8)):
        Trainer(small_config(data, folder / name, grad_accum=accum, **TWO_RANKS)).train()
    llama = small_config(data, folder / "single-llama", grad_accum=2, **TWO_RANKS, **LLAMA)
    Trainer(llama).train()
    begin = chats.save_chats(folder / "chat.jsonl"), chats.save_start(folder / "start")
    alone = {"batch_size": 2, "grad_accum": 2}
    Trainer(chats.config(*begin, folder / "single-tuned", **alone, **chats.LORA)).train()
    one = small_config(data, folder / "one", grad_accum=2, **TWO_RANKS)
    Trainer(one, on_log=press_ctrl_c(4)).train()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ranks = [FORKED.Process(target=two_ranks.run, args=(r, port, data, folder)) for r in (0, 1)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(120)
        rank.kill()
    assert [rank.exitcode for rank in ranks] == [0, 0], [
        file.read_text() for file in folder.glob("failed-*.txt")
    ]
    Trainer(small_config(data, folder / "stopped", grad_accum=2, resume=True, **TWO_RANKS)).train()
    return folder


def assert_same_run(run: Path, reference: Path, tolerance: float = 2e-6) -> None:
    """Losses, norms, validation and weights agree; order of summation is all that differs."""
    rows, expected = read_log(run / LOG), read_log(reference / LOG)
    assert [row["step"] for row in rows] == [row["step"] for row in expected]
    for row, other in zip(rows, expected, strict=True):
        assert row.get("sample") == other.get("sample")
        numbers, expected_numbers = (
            {name: r[name] for name in ("loss", "val_loss", "grad_norm", "lr") if name in r}
            for r in (row, other)
        )
        assert numbers == pytest.approx(expected_numbers, rel=10 * tolerance)
    weights = load_file(checkpoints(run)[-1] / "model.safetensors")
    for name, value in load_file(checkpoints(reference)[-1] / "model.safetensors").items():
        ours = weights[name]
        if name.endswith("attn.c_attn.bias"):  # softmax cancels what is the same for all keys, so
            C = len(value) // 3  # the keys' gradient is rounding noise, which AdamW enlarges
            value, ours = (torch.cat([x[:C], x[2 * C :]]) for x in (value, ours))
        torch.testing.assert_close(ours, value, rtol=0, atol=50 * tolerance)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "two, one",
    [("ddp", "single"), ("ddp-4", "single-8"), ("fsdp", "single-4"), ("stopped", "single")]
    + [("one", "single"), ("llama", "single-llama"), ("tuned", "single-tuned")],
)
def test_two_ranks_compute_what_one_computes(runs, two, one):
    """With accumulation too; "stopped" went on on one rank, "one" had begun there."""
    assert_same_run(runs / two, runs / one)


@pytest.mark.thorough
def test_torchrun_starts_the_command(data, tmp_path):
    given = {"--data": data, "--out": tmp_path / "run", "--steps": 3, "--warmup-steps": 1}
    given |= {f"--n-{name}": size for name, size in (("layer", 1), ("head", 2), ("embd", 8))}
    given |= {"--block-size": 8, "--batch-size": 2, "--device": "cpu", "--sample-every": 0}
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")
    command = [
        *torchrun,
        "-m",
        "gpt2_edu",
        "train",
        *(str(x) for one in given.items() for x in one),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    assert [row["step"] for row in read_log(tmp_path / "run" / LOG)][-1] == 3


@pytest.mark.thorough
def test_dropout_differs_between_ranks_but_the_start_of_the_weights_does_not(runs):
    for step in range(TWO_RANKS["steps"]):
        drawn = [(runs / "dropout" / f"drawn-{step}-{rank}.txt").read_text() for rank in (0, 1)]
        assert drawn[0] != drawn[1]


@pytest.mark.thorough
def test_two_ranks_stop_and_resume_with_the_dropout_that_each_had(runs):
    """The signal came to one rank; without a word the others would wait for it forever."""
    assert result(runs / "dropout-again") == result(runs / "dropout")


@pytest.mark.thorough
def test_a_disk_that_fails_on_rank_0_fails_on_all_and_none_waits(runs):
    for rank in (0, 1):
        message = (runs / f"lost-{rank}.txt").read_text()
        assert "the disk is full" in message and "step-00000003" in message
    assert checkpoints(runs / "lost") == []


@pytest.fixture
def group_of_one():
    """Enough to see when gradients are exchanged."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_ddp_exchanges_gradients_in_the_last_micro_step_alone(model, idx, group_of_one):
    """The sum is right either way, but each exchange costs as much as all of them need."""
    exchanged = []

    def count(state, bucket):
        exchanged.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    training = DistributedDataParallel(model)
    training.register_comm_hook(None, count)
    for last in (False, False, True):
        before = len(exchanged)
        with micro_step(training, last=last):
            training(idx, idx)[1].backward()
        assert (len(exchanged) > before) == last


def test_fsdp_exchanges_gradients_in_the_last_micro_step_alone(model, idx, group_of_one):
    distribute(model, ALONE, fsdp=True, compiled=False)
    for last in (False, False, True):
        with micro_step(model, last=last):
            model(idx, idx)[1].backward()
        assert all((p.grad is not None) == last for p in model.parameters())


def test_a_sample_before_the_first_step_does_not_spoil_it(model, idx, group_of_one):
    """FSDP keeps what it gathers: made in inference mode, no gradient could be taken of it."""
    distribute(model, ALONE, fsdp=True, compiled=False)
    generate(model, idx[:1], 2, use_cache=False, temperature=0)
    with micro_step(model, last=True):
        model(idx, idx)[1].backward()
    assert all(p.grad is not None for p in model.parameters())


def test_a_whole_tensor_is_copied_into_one_that_is_split(model, group_of_one):
    distribute(model, ALONE, fsdp=True, compiled=False)
    split = model.transformer.wte.weight
    whole = torch.randn(split.shape)
    distributed.copy_full_tensor(split, whole)
    assert type(split.data) is not torch.Tensor
    assert torch.equal(distributed.full_tensor(split), whole)


def test_a_model_is_split_over_the_devices_of_the_run(model, monkeypatch, group_of_one):
    """Without a mesh FSDP would take the machine's GPU, though the run is on its processor."""
    meshes: list = []
    monkeypatch.setattr(
        "torch.distributed.fsdp.fully_shard", lambda module, mesh=None: meshes.append(mesh)
    )
    distribute(model, ALONE, fsdp=True, compiled=False)
    assert [mesh.device_type for mesh in meshes] == ["cpu"] * (model.config.n_layer + 1)


def test_a_rank_of_many_gpus_works_on_its_own(model, monkeypatch):
    given: dict = {}
    monkeypatch.setattr(
        distributed, "DistributedDataParallel", lambda model, **named: given.update(named)
    )
    monkeypatch.setattr(model, "to", lambda device: model)
    for device, ids in ((torch.device("cuda", 1), [1]), (torch.device("cpu"), None)):
        distribute(model, Ranks(1, 2, device), fsdp=False, compiled=False)
        assert given == {"device_ids": ids, "gradient_as_bucket_view": True}


def test_nccl_is_told_the_device_of_its_process(monkeypatch):
    given: dict = {}
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: given.update(set=device))
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    monkeypatch.setattr(
        dist, "init_process_group", lambda kind, **named: given.update(named, kind=kind)
    )
    monkeypatch.setattr(dist, "get_rank", lambda: 1)
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    with process_group(torch.device("cuda")) as ranks:
        assert ranks.device == torch.device("cuda", 1)
    assert given["kind"] == "nccl" and given["device_id"] == given["set"] == ranks.device


def test_alone_nothing_is_exchanged(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with process_group(torch.device("cpu")) as ranks:
        assert ranks == ALONE
        assert (ranks.sum(1.5, 2), ranks.gather("x")) == ([1.5, 2], ["x"])
    assert not torch.distributed.is_initialized()


@pytest.mark.parametrize(
    ("device", "said"),
    [("mps", "this is mps"), ("cuda", "device number 4, this machine has 2")],
)
def test_refuses_a_device_that_cannot_be_one_of_many(monkeypatch, device, said):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=said), process_group(torch.device(device)):
        pass
