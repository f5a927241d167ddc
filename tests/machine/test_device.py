"""Settings of the C library, and modules without numbers."""

from __future__ import annotations

import platform

import pytest
import torch
from torch import nn

from gpt2_edu.machine import device
from gpt2_edu.machine.device import checked_device, pick_compile, pick_precision

CPU = torch.device("cpu")
TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in glibc's malloc.h


class Libc:
    """Takes options as glibc's mallopt does: 1 for a value that it takes, 0 for one too large."""

    def __init__(self, largest: int) -> None:
        self.largest, self.options = largest, {}

    def mallopt(self, option: int, value: int) -> int:
        if option == MMAP and value > self.largest:
            return 0
        self.options[option] = value
        return 1


@pytest.mark.parametrize("largest", [2**30, 2**25])
def test_freed_memory_is_neither_given_back_nor_mapped_by_itself(monkeypatch, largest):
    libc = Libc(largest)
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.39"))
    monkeypatch.setattr(device.ctypes, "CDLL", lambda name: libc)
    device.keep_freed_memory()
    assert libc.options == {TRIM: 2**31 - 1, MMAP: largest}


def test_the_compiler_is_the_one_that_the_reader_names(monkeypatch, tmp_path):
    (mine := tmp_path / "mine").touch(0o755)
    monkeypatch.setenv("CXX", str(mine))
    assert device.cpp_compiler() == str(mine)


def test_modules_of_shapes_alone_have_no_numbers_and_draw_none():
    before = torch.get_rng_state()
    with device.shapes_only():
        layer = nn.Sequential(nn.Linear(10**5, 10**5), nn.Embedding(10**5, 10**4))
    assert {p.device.type for p in layer.parameters()} == {"meta"}
    assert torch.equal(torch.get_rng_state(), before)
    assert nn.Linear(2, 3).weight.device.type == "cpu"


@pytest.mark.parametrize(
    "fast, book, expected",
    [(True, "0", torch.bfloat16), (False, "0", torch.float32), (True, "1", torch.float32)],
)
def test_a_cpu_gets_bfloat16_only_where_it_is_fast_and_never_in_the_book(
    monkeypatch, fast, book, expected
):
    monkeypatch.setenv("GPT2_EDU_BOOK", book)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: fast)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert pick_precision("auto", CPU) == expected
    assert pick_precision("bf16", CPU) == torch.bfloat16  # whoever asks for it gets it


@pytest.mark.parametrize(
    "capability, expected", [((7, 5), torch.float16), ((8, 0), torch.bfloat16)]
)
def test_an_older_gpu_gets_float16_and_a_newer_one_bfloat16(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    cuda = torch.device("cuda", 0)
    assert pick_precision("auto", cuda) == expected
    assert pick_precision("fp16", cuda) == torch.float16
    if expected == torch.float16:
        with pytest.raises(ValueError, match="bf16 is not fast on this cuda"):
            pick_precision("bf16", cuda)


def test_mps_stays_in_float32():
    assert pick_precision("auto", torch.device("mps")) == torch.float32


def test_compiling_without_a_compiler_is_refused_only_if_it_was_asked_for(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)  # it may be a whole path
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    for place, needs in ((CPU, r"C\+\+ compiler"), (torch.device("cuda"), "triton")):
        assert not pick_compile("auto", place) and not pick_compile("off", place)
        with pytest.raises(ValueError, match=needs):
            pick_compile("on", place)


# ---- What is wrong with a GPU, in a sentence ----------------------------------------------------


@pytest.fixture
def one_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_75", "sm_90a", "compute_120"])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "GeForce GTX 1080")


def test_a_device_beyond_the_last_is_told_which_there_are(one_gpu):
    assert checked_device("cuda:0") == torch.device("cuda", 0)
    said = r"^device 'cuda:7' is not on this machine, which has cuda:0 … 0\. Use auto"
    with pytest.raises(ValueError, match=said):
        checked_device("cuda:7")


def test_a_gpu_that_is_older_than_the_build_is_refused(one_gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (6, 1))
    said = "GeForce GTX 1080 has compute capability 6.1, and this build of torch begins at 7.5"
    with pytest.raises(ValueError, match=said):
        checked_device("cuda")


def test_without_a_device_the_driver_s_own_words_are_told(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(ValueError, match="machine: this torch was built without CUDA"):
        checked_device("cuda")


def test_what_torch_keeps_for_itself_is_free_memory_too(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (3, 100))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 90)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 20)
    assert device.available_memory(torch.device("cuda")) == 73


def test_out_of_memory_is_seen_behind_the_error_that_it_causes():
    """As in a recording: its end fails too."""
    said = "CUDA error: operation failed due to a previous error during capture"
    with pytest.raises(RuntimeError, match="during capture") as caught:
        try:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")
        finally:
            raise RuntimeError(said)
    assert device.is_out_of_memory(caught.value)
    assert device.is_out_of_memory(MemoryError())
    assert device.is_out_of_memory(RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"))
    assert not device.is_out_of_memory(RuntimeError(said))
    assert not device.is_out_of_memory(None)


def test_compiling_is_for_gpus_or_asked_for(monkeypatch):
    monkeypatch.setattr(device, "has_compiler", lambda place: True)
    assert pick_compile("on", CPU) and not pick_compile("auto", CPU)
    assert pick_compile("auto", torch.device("cuda")) and not pick_compile("off", CPU)


def test_the_process_knows_its_peak_of_memory_on_a_cpu_only():
    assert 5e7 < device.peak_memory(CPU) < 1e12
    assert device.peak_memory(torch.device("meta")) is None


def test_without_glibc_nothing_is_set(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(device.ctypes, "CDLL", lambda name: pytest.fail("nothing to set here"))
    device.keep_freed_memory()


def test_memory_moves_to_huge_pages_as_it_is(missing):
    with device.huge_pages():
        large = torch.arange(2**21)  # 16 MB
    assert large.equal(torch.arange(2**21))
    if not device.large_mappings():
        missing("this system has no list of a process's memory")
    address = large.data_ptr()
    assert any(start <= address < stop for start, stop in device.large_mappings())


def test_where_nothing_is_known_of_memory_nothing_moves(monkeypatch):
    monkeypatch.setattr(device, "large_mappings", set)
    monkeypatch.setattr(device.ctypes, "CDLL", lambda name: pytest.fail("nothing to move here"))
    with device.huge_pages():
        torch.zeros(2**21)
