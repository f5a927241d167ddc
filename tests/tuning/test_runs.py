"""Runs on conversations: whole and by LoRA, resumed exactly, asked, exported; and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gpt2_edu import GPT2, LlamaConfig, load_model, load_tokenizer
from gpt2_edu.checkpoints import checkpoints, damage
from gpt2_edu.cli import main
from gpt2_edu.cli.train import train_config
from gpt2_edu.data import BatchLoader
from gpt2_edu.llama import Llama
from gpt2_edu.models import load_model_tokenizer
from gpt2_edu.quantize import quantize
from gpt2_edu.trainer import Trainer
from gpt2_edu.training.config import LOG
from gpt2_edu.training.memory import StepMemory
from gpt2_edu.training.run_log import read_log
from gpt2_edu.tuning import Conversations, example_batch, load_adapter, merge, with_roles
from gpt2_edu.tuning.conversations import read_conversations
from gpt2_edu.tuning.messages import role_encoding
from tests.thorough import thorough
from tests.training.small_run import press_ctrl_c, result, small_config, write_shards
from tests.tuning.chats import LORA, NO_SIZES, SIZES, chats, config, line, save_chats, save_start

pytestmark = pytest.mark.slow

CRANE, CPU = load_tokenizer("crane"), torch.device("cpu")


@pytest.fixture(scope="session")
def start(tmp_path_factory) -> Path:
    """A small model with the vocabulary of Crane World."""
    return save_start(tmp_path_factory.mktemp("start") / "model")


@pytest.fixture(scope="session")
def chat(tmp_path_factory) -> Path:
    return save_chats(tmp_path_factory.mktemp("chat") / "chat.jsonl")


@pytest.fixture(scope="session", params=["whole", "lora", "tables"])
def kind(request):
    return {"whole": {}, "lora": LORA, "tables": LORA | {"lora_tables": True}}[request.param]


@pytest.fixture(scope="session")
def finished(kind, chat, start, tmp_path_factory):
    out = tmp_path_factory.mktemp("finished") / "run"
    Trainer(config(chat, start, out, **kind)).train()
    return out


def adapter_of(run: Path) -> Path:
    return checkpoints(run)[-1] / "adapter"


# ---- A run --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stopped_after", [1, thorough(5)])
def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(
    stopped_after, kind, chat, start, finished, tmp_path
):
    out = tmp_path / "run"
    Trainer(config(chat, start, out, **kind), on_log=press_ctrl_c(stopped_after)).train()
    assert stopped_after <= read_log(out / LOG)[-1]["step"] < 12
    assert Trainer.resume(out).train().finished and result(out) == result(finished)
    if kind:
        files = [adapter_of(run) / "adapter_model.safetensors" for run in (out, finished)]
        tensors, others = (load_file(file) for file in files)
        assert tensors.keys() == others.keys()
        assert all(tensors[key].equal(others[key]) for key in tensors)


def test_a_run_leaves_a_plain_model_with_roles_that_has_learned(kind, finished, start):
    model = load_model(finished)
    encoding = load_model_tokenizer(finished, model)
    assert type(model) is GPT2 and model.config.vocab_size == encoding.n_vocab == 1026
    losses = [row["val_loss"] for row in read_log(finished / LOG) if "val_loss" in row]
    assert losses[-1] < losses[0] - 0.05
    base, _ = with_roles(load_model(start), CRANE)
    changed = {n for n, t in model.state_dict().items() if not t.equal(base.state_dict()[n])}
    if not kind:
        assert len(changed) > 25
        return
    maps = {n for n in changed if n.startswith("transformer.h.") and n.endswith("weight")}
    tables = {"transformer.wte.weight", "lm_head.weight"} if "lora_tables" in kind else set()
    assert len(maps) == 8 and changed == maps | tables
    merged = merge(load_adapter(base, adapter_of(finished)))
    assert all(model.state_dict()[n].equal(t) for n, t in merged.state_dict().items())
    assert len(load_file(checkpoints(finished)[-1] / "optimizer.safetensors")) == 3 * (
        16 + bool(tables)
    )
    (adapter_of(finished) / "extra").mkdir(exist_ok=True)
    assert damage(checkpoints(finished)[-1]) == []


def test_the_sample_is_an_answer_to_a_question_kept_for_validation(finished, chat):
    sample = next(row["sample"] for row in read_log(finished / LOG) if "sample" in row)
    encoding = role_encoding(CRANE)
    val = Conversations(chat, encoding, 40, "val")
    asked = encoding.decode(val.question())
    assert sample.startswith(asked) and asked.endswith("<|assistant|>")


def test_each_token_of_an_answer_counts_the_same_however_a_step_is_divided(start, tmp_path):
    """In training and in validation: a mean of batches' means would favour short answers."""
    long = "Ivo saw a hat and a map and a rope and a lamp"
    path = tmp_path / "uneven.jsonl"
    path.write_text("\n".join([line("Who?", "Ivo"), line("Who?", long)] * 40))
    val = Conversations(path, role_encoding(CRANE), 40, "val").examples
    assert len({len(one.ids) for one in val}) == 2
    rows = {}
    for batch_size, grad_accum in ((8, 1), (2, 4), (1, 8)):
        out = tmp_path / f"run-{batch_size}"
        sizes = {"batch_size": batch_size, "grad_accum": grad_accum, "steps": 3, "warmup_steps": 0}
        sizes |= {"eval_every": 1, "eval_batches": 40}
        Trainer(config(path, start, out, **sizes)).train()
        logged = read_log(out / LOG)[1:]
        rows[batch_size] = [(row["loss"], row["grad_norm"], row["val_loss"]) for row in logged]
    for other in (2, 1):
        assert rows[other] == [pytest.approx(row, rel=1e-4) for row in rows[8]]
    _, loss = load_model(checkpoints(out)[-1])(*example_batch(val))
    assert rows[1][-1][2] == pytest.approx(loss.item(), rel=1e-4)


def test_a_plain_text_is_tuned_by_lora_too(tmp_path):
    data = write_shards(tmp_path / "data")
    Trainer(small_config(data, tmp_path / "base")).train()
    settings = {"n_layer": None, "n_head": None, "n_embd": None, "dropout": 0.0}
    tuned = small_config(
        data, tmp_path / "run", init_from=str(tmp_path / "base"), **settings | LORA
    )
    Trainer(tuned).train()
    losses = [row["val_loss"] for row in read_log(tmp_path / "run" / LOG) if "val_loss" in row]
    assert losses[-1] < losses[0] and load_model(tmp_path / "run").config.vocab_size == 97


def test_lora_needs_no_memory_for_gradients_of_what_is_frozen(chat, start, tmp_path):
    whole, lora = (
        StepMemory(config(chat, start, tmp_path, **kind), load_model(start).config, CPU, "float32")
        for kind in ({}, LORA)
    )
    assert whole.needed - lora.needed == 12 * load_model(start).num_parameters()


def test_a_llama_is_tuned(chat, tmp_path):
    sizes = LlamaConfig(**SIZES, n_kv_head=1, n_embd=12, n_inner=16, head_size=4)
    Llama(sizes).save_pretrained(tmp_path / "llama")
    Trainer(config(chat, tmp_path / "llama", tmp_path / "run", **LORA)).train()
    model = load_model(tmp_path / "run")
    assert isinstance(model, Llama) and model.config.vocab_size == 1026


def test_a_tuned_model_is_tuned_again(finished, chat, tmp_path):
    again = config(chat, finished, tmp_path / "again", **LORA)
    Trainer(again).train()
    assert load_model(tmp_path / "again").config.vocab_size == 1026
    first = next(row for row in read_log(tmp_path / "again" / LOG))
    last = min(row["val_loss"] for row in read_log(finished / LOG) if "val_loss" in row)
    assert first["val_loss"] == pytest.approx(last, rel=1e-5)


# ---- The data -----------------------------------------------------------------------------------


def test_rows_are_whole_conversations_and_every_one_is_seen_in_an_epoch(chat):
    encoding = role_encoding(CRANE)
    train = Conversations(chat, encoding, 40)
    val = Conversations(chat, encoding, 40, "val")
    everything = list(read_conversations(chat, encoding).values())
    assert len(train.examples) + len(val.examples) == len(everything) == 60
    assert 0 < len(val.examples) < 10 and everything[0] in train.examples
    loader = BatchLoader(train, 1, 40, seed=5, align=True)
    seen = [tuple(loader.next_batch()[0][0].tolist()) for _ in train.examples]
    expected = [tuple((one.ids[:-1] + [1023] * 40)[:40]) for one in train.examples]
    assert sorted(seen) == sorted(expected) and seen != expected
    other = Conversations(chat, encoding, 40, loss_on="everything")
    assert len({train.fingerprint, val.fingerprint, other.fingerprint}) == 3


def test_the_command_chooses_rows_as_long_as_the_longest_conversation(chat, start):
    longest = max(len(one.ids) for one in read_conversations(chat, role_encoding(CRANE)).values())
    given = {"data": str(chat), "init_from": str(start), "out": "run"}
    assert train_config(**given).block_size == longest - 1 < 48
    assert train_config(**given, block_size=30).block_size == 30
    assert train_config(**given, lora_rank=3).lora_alpha == 6.0


@pytest.mark.parametrize("bad, problem", [
    ("[1]", r"chat\.jsonl:2 must be an object with \"messages\".* it holds list"),
    ('{"message": []}', "it holds message"),
    ('{"messages": [], "text": ""}', "it holds messages, text"),
    ("{", r"chat\.jsonl:2 is not valid JSON"),
    ('{"messages": []}', r"chat\.jsonl:2: messages must be a list with at least one"),
    (line("Who?"), r"chat\.jsonl:2: the conversation has no answer"),
    (line("Who?", "Ivo").replace("assistant", "bot"), r"chat\.jsonl:2: message 2 has the role"),
    ('{"text": null}', r"chat\.jsonl:2: text must be text, got None"),
    (line("Who?", "Ivo " * 60), r"more than block_size=40 tokens, up to \d+, in line 2\. Shorten"),
    ("\xff", r"chat\.jsonl:2 is not valid JSON"),
])  # fmt: skip
def test_a_bad_line_is_refused_with_its_number_and_nothing_is_written(
    bad, problem, start, tmp_path
):
    path = tmp_path / "chat.jsonl"
    path.write_bytes("\n".join([line("Who?", "Ivo"), bad, *chats(20)]).encode("latin-1"))
    with pytest.raises(ValueError, match=problem):
        Trainer(config(path, start, tmp_path / "run")).train()
    assert not (tmp_path / "run").exists()


def test_files_without_conversations_are_refused(start, tmp_path):
    path = tmp_path / "chat.jsonl"
    with pytest.raises(FileNotFoundError, match="of conversations"):
        Trainer(config(path, start, tmp_path / "run")).train()
    path.write_text("\n\n")
    with pytest.raises(ValueError, match="has no conversations"):
        Trainer(config(path, start, tmp_path / "run")).train()
    path.write_text(line("Who?", "Ivo"))
    with pytest.raises(
        ValueError, match="one conversation and none for validation: use eval_every"
    ):
        Trainer(config(path, start, tmp_path / "run")).train()
    Trainer(config(path, start, tmp_path / "run", eval_every=0)).train()
    path.write_text("\n".join([line("Who?", "Ivo"), line("What?", "A hat")]))
    val = Conversations(path, role_encoding(CRANE), 40, "val")
    assert len(val.examples) == 1


# ---- Settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("changed, problem", [
    ({"init_from": None}, r"chat\.jsonl is for tuning a trained model: name it with init_from"),
    ({"init_from": None, "data": "shards", "lora_rank": 2}, "lora_rank=2 is for tuning"),
    ({"lora_tables": True}, "are for LoRA: give a lora_rank, too"),
    ({"lora_alpha": 4.0}, "are for LoRA: give a lora_rank, too"),
    ({"lora_rank": 2, "lora_alpha": -1.0}, "lora_alpha must be above 0"),
    ({"lora_rank": 0}, "lora_rank must be at least 1"),
    ({"lora_rank": 2, "fsdp": True}, "fsdp splits what is trained"),
    ({"data": "shards", "loss_on": "everything"}, "loss_on is for conversations, and shards is no"),
])  # fmt: skip
def test_settings_that_do_not_go_together_are_refused(changed, problem, chat, start, tmp_path):
    others = {name: value for name, value in changed.items() if name not in ("data", "init_from")}
    begin = changed.get("init_from", str(start))
    with pytest.raises((TypeError, ValueError), match=problem):
        small_config(
            changed.get("data", chat), tmp_path, **NO_SIZES | {"init_from": begin} | others
        )


def test_a_quantised_model_is_not_trained(chat, start, tmp_path):
    quantize(load_model(start)).save_pretrained(tmp_path / "int8")
    for changed in ({}, LORA):
        with pytest.raises(ValueError, match="integers of 8 bits, which have no gradient: train"):
            Trainer(config(chat, tmp_path / "int8", tmp_path / "run", **changed)).train()
    assert not (tmp_path / "run").exists()


def test_a_run_by_lora_is_not_resumed_on_another_model(chat, start, tmp_path):
    mine, out = tmp_path / "mine", tmp_path / "run"
    load_model(start).save_pretrained(mine)
    Trainer(config(chat, mine, out, **LORA), on_log=press_ctrl_c(5)).train()
    model = load_model(start)
    with torch.no_grad():
        model.transformer.h[0].mlp.c_fc.weight *= 1.01
    model.save_pretrained(mine)
    before = sorted(path.name for path in out.rglob("*"))
    with pytest.raises(ValueError, match="belongs to another model"):
        Trainer.resume(out).train()
    assert sorted(path.name for path in out.rglob("*")) == before
    with pytest.raises(ValueError, match="lora_rank was 2, is now 3"):
        Trainer(config(chat, mine, out, resume=True, lora_rank=3)).train()


# ---- The command line ----------------------------------------------------------------------------


def test_a_model_is_tuned_asked_and_exported_by_commands(chat, start, tmp_path, capsys):
    out = tmp_path / "run"
    words = [
        "--steps",
        "40",
        "--warmup-steps",
        "2",
        "--eval-every",
        "20",
        "--sample-every",
        "0",
        "--device",
        "cpu",
    ]
    words += ["--precision", "float32", "--lora-rank", "2", "--lora-tables", "--lr", "0.03"]
    main(["train", "--data", str(chat), "--init-from", str(start), "--out", str(out), *words])
    assert 'gpt2-edu generate --ask "Who?" --model' in capsys.readouterr().out
    ask = [
        "generate",
        "--ask",
        "Ivo saw a hat. What?",
        "--temperature",
        "0",
        "--max-new-tokens",
        "5",
    ]
    main([*ask, "--model", str(out)])
    answer = capsys.readouterr().out
    assert answer.strip(), repr(answer)
    assert not answer.startswith(" ") and "Ivo saw a hat." not in answer
    main([*ask, "--model", str(start), "--adapter", str(adapter_of(out))])
    assert capsys.readouterr().out == answer
    main([*ask, "--model", str(out), "--samples", "2"])
    assert capsys.readouterr().out == f"--- 1\n{answer}--- 2\n{answer}"
    main(["export", str(out), "--out", str(tmp_path / "mine")])
    assert not (tmp_path / "mine" / "adapter").exists()
    capsys.readouterr()
    main([*ask, "--model", str(tmp_path / "mine")])
    assert capsys.readouterr().out == answer
    settings = json.loads((tmp_path / "mine" / "generation_config.json").read_text())
    assert settings == {"eos_token_id": 1023}


@pytest.mark.parametrize("words, problem", [
    (["generate"], "give a text to continue, or a question with --ask; not both"),
    (["generate", "A crane", "--ask", "Who?"], "not both"),
    (["generate", "--ask", "Who?", "--grammar", "--model", "crane"], "leave out --ask"),
    (["generate", "--ask", "Who?", "--model", "crane"], "'crane' has no roles"),
    (["generate", "--ask", " ", "--model", "crane"], "the content of message 1 must be text"),
    (["generate", "A", "--model", "crane", "--adapter", "nowhere"], "nowhere holds no adapter"),
    (["train", "--data", "chat.jsonl", "--out", "run"], "name it with init_from"),
    (["export", "RUN", "--out", "x.safetensors", "--page"], "special token"),
])  # fmt: skip
def test_commands_say_what_is_missing(words, problem, finished, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([str(finished) if word == "RUN" else word for word in words])
    message = capsys.readouterr().err
    assert problem in message and "Traceback" not in message
