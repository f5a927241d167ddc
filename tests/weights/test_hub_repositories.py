"""Any repository of the hub by its name, from a stand-in: commits, several files, faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gpt2_edu import GPT2, Llama, LlamaConfig, load_model
from gpt2_edu.cli import main
from gpt2_edu.hub import INDEX, PUBLISHED
from gpt2_edu.models import load_config, load_model_tokenizer
from gpt2_edu.tokenizer_json import TokenizerJSON
from gpt2_edu.weights import locate, save_tensors
from tests.weights.helpers import assert_same_weights, reconfigure

pytestmark = pytest.mark.slow

REPO, COMMIT, LATER = "someone/small-llama", "a" * 40, "b" * 40
SIZES = LlamaConfig(
    vocab_size=280, block_size=32, n_layer=2, n_head=4, n_kv_head=2, n_embd=24, n_inner=40,
    head_size=6,
)  # fmt: skip


def published(folder: Path, seed: int = 0) -> Path:
    """A model in three files and its tokenizer, as the hub keeps them."""
    torch.manual_seed(seed)
    Llama(SIZES).save_pretrained(folder)
    whole = folder / "model.safetensors"
    tensors = load_file(whole)
    whole.unlink()
    files = {name: f"model-{1 + i % 3:05}-of-00003.safetensors" for i, name in enumerate(tensors)}
    for file in sorted({*files.values()}):
        save_tensors({n: t for n, t in tensors.items() if files[n] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"weight_map": files}))
    vocabulary = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocabulary | {"<|endoftext|>": 256}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    return published(tmp_path / "published")


@pytest.fixture
def hub(folder, stand_in):
    stand_in.publish(REPO, COMMIT, folder, branch="main")
    return stand_in


def shards(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("model-*"))


def fetched(hub) -> list[str]:
    """The files that were sent; the library asks for something else, too, once in a process."""
    return [name for method, name, _ in hub.requests if method == "GET" and "." in name]


def test_a_name_loads_a_model_in_several_files_with_its_tokenizer(hub, folder):
    model = Llama.from_pretrained(REPO)
    assert_same_weights(model, Llama.from_pretrained(folder))
    assert type(load_model(REPO)) is Llama and load_config(REPO) == SIZES
    assert type(load_model_tokenizer(REPO, model)) is TokenizerJSON
    assert locate(REPO).name == COMMIT
    assert {*fetched(hub)} == {"config.json", "tokenizer.json", INDEX, *shards(folder)}


def test_the_commit_of_a_branch_is_asked_for_once(hub, tmp_path, monkeypatch):
    first = Llama.from_pretrained(REPO)
    hub.publish(REPO, LATER, published(tmp_path / "later", seed=1), branch="main")
    hub.requests.clear()
    assert_same_weights(Llama.from_pretrained(REPO), first)
    assert_same_weights(Llama.from_pretrained(f"{REPO}@main"), first)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert_same_weights(Llama.from_pretrained(f"{REPO}@{COMMIT}"), first)
    assert hub.requests == []


def test_a_commit_in_the_name_is_the_one_that_is_loaded(hub, tmp_path):
    later = published(tmp_path / "later", seed=1)
    Llama.from_pretrained(REPO)
    hub.publish(REPO, LATER, later)
    model = Llama.from_pretrained(f"{REPO}@{LATER}")
    assert_same_weights(model, Llama.from_pretrained(later))


def test_a_single_file_needs_no_index(stand_in, tmp_path):
    Llama(SIZES).save_pretrained(tmp_path / "one")
    stand_in.publish(REPO, COMMIT, tmp_path / "one", branch="main")
    model = Llama.from_pretrained(REPO)
    assert_same_weights(model, Llama.from_pretrained(tmp_path / "one"))
    assert fetched(stand_in) == ["config.json", "model.safetensors"]
    with pytest.raises(ValueError, match="no tokenizer of this package has 280 tokens"):
        load_model_tokenizer(REPO, model)


def test_openais_repositories_are_the_pinned_ones(hub, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr("gpt2_edu.weights.fetch", lambda name: asked.append(name) or Path("gone"))
    assert locate(PUBLISHED["gpt2-large"].repo) == Path("gone")
    assert asked == ["gpt2-large"] and hub.requests == []


def test_the_commands_take_a_name(hub, capsys):
    options = ["--max-new-tokens", "4", "--seed", "1", "--no-stop"]
    assert main(["generate", "A crane", "--model", REPO, *options]) is None
    assert capsys.readouterr().out.startswith("A crane")
    assert main(["inspect", f"{REPO}@{COMMIT}"]) is None
    assert "n_kv_head                            2" in capsys.readouterr().out


# ---- What can be wrong ---------------------------------------------------------------------------


def test_a_download_that_breaks_off_is_tried_again(hub, folder):
    hub.cut = 1
    assert_same_weights(Llama.from_pretrained(REPO), Llama.from_pretrained(folder))
    assert len(hub.asked("GET", shards(folder)[0])) == 2


def test_a_damaged_file_is_fetched_once_more(hub, folder):
    hub.spoil = 1
    assert_same_weights(Llama.from_pretrained(REPO), Llama.from_pretrained(folder))
    assert len(hub.asked("GET", shards(folder)[0])) == 2


def test_a_server_that_sends_damaged_files_is_named(hub, folder):
    hub.spoil = 9
    with pytest.raises(ValueError, match=f"{shards(folder)[0]} is damaged .*SHA-256.*HF_ENDPOINT"):
        Llama.from_pretrained(REPO)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", INDEX])
def test_a_small_file_that_is_damaged_in_the_cache_is_fetched_again(hub, name):
    file = locate(REPO) / name
    content = file.read_bytes()
    file.write_bytes(content + b" ")
    hub.requests.clear()
    assert (locate(REPO) / name).read_bytes() == content
    assert fetched(hub) == [name]


@pytest.mark.parametrize("name", ["config.json", "model-00002-of-00003.safetensors"])
def test_a_link_in_a_copied_cache_is_replaced_and_its_target_is_left_alone(hub, tmp_path, name):
    link, diary = locate(REPO) / name, tmp_path / "diary.txt"
    content = link.read_bytes()
    diary.write_text("the user's")
    link.unlink()
    link.symlink_to(diary)
    assert (locate(REPO) / name).read_bytes() == content
    assert diary.read_text() == "the user's"


def test_a_missing_file_of_several_is_named(hub, folder):
    gone = shards(folder)[1]
    for path in [path for path in hub.files if path.endswith(gone)]:
        del hub.files[path]
    with pytest.raises(FileNotFoundError, match=f"asked for {gone} of {REPO}, .* HTTP 404"):
        Llama.from_pretrained(REPO)


@pytest.mark.parametrize("change, message", [
    ({"model_type": "mistral"}, "model_type is 'mistral'"),
    ({"rope_parameters": {"rope_type": "yarn"}}, "its RoPE is of type 'yarn'"),
    ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
])  # fmt: skip
@pytest.mark.parametrize("load", [Llama.from_pretrained, load_model])
def test_another_architecture_is_refused_before_its_weights_are_fetched(
    change, message, load, folder, stand_in
):
    reconfigure(folder, **change)
    stand_in.publish(REPO, COMMIT, folder, branch="main")
    with pytest.raises(ValueError, match=message):
        load(REPO)
    assert fetched(stand_in) == ["config.json"]


def test_each_class_refuses_a_repository_of_the_other(hub):
    with pytest.raises(ValueError, match=r"does not describe a GPT-2: .*model_type is 'llama'"):
        GPT2.from_pretrained(REPO)
    assert fetched(hub) == ["config.json"]


def test_a_tokenizer_that_does_not_fit_is_refused(folder, stand_in):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens([f"word {i}" for i in range(24)])
    tokenizer.save(str(folder / "tokenizer.json"))
    stand_in.publish(REPO, COMMIT, folder, branch="main")
    with pytest.raises(ValueError, match=r"the model has 280 tokens, the tokenizer .* 281"):
        load_model_tokenizer(REPO, load_model(REPO))


def test_a_name_that_is_neither_a_folder_nor_on_the_hub_is_told_as_both(hub):
    with pytest.raises(FileNotFoundError, match="there is no folder 'runs/first', and asked for"):
        load_model("runs/first")


def test_a_path_in_a_folder_that_exists_is_not_asked_for(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(FileNotFoundError, match=r"there is no folder 'runs/frist'\. Give"):
        load_model("runs/frist")
    assert hub.requests == []


@pytest.mark.parametrize("commit", ["c" * 39, "main"])
def test_a_mirror_that_sends_no_commit_is_refused(hub, commit):
    hub.lies = [{"X-Repo-Commit": commit}] * 9
    with pytest.raises(ValueError, match="HF_ENDPOINT sent no commit"):
        load_model(REPO)
