"""Device, precision and the size of batches: how training fits the machine it runs on."""

import json
import tomllib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from test_train_settings import checkpoint, desk, events  # noqa: F401  (desk is a fixture)

from vitrail.config import POSITIONS, Config, ModelConfig, load_config
from vitrail.errors import ConfigError, TrainingError
from vitrail.fast import Masks, Twin
from vitrail.folder import ModelFolder
from vitrail.model import Transformer
from vitrail.train import budget, train
from vitrail.train.budget import batch_tokens_for, free_memory
from vitrail.train.device import choose_device
from vitrail.train.events import Silence
from vitrail.train.objective import Objective
from vitrail.train.peers import ALONE, Peers

GIB = 1 << 30


# batch_tokens = "auto"


def fitted(free, *changes, peers=ALONE, **machine):
    config = load_config(None, overrides=["model.preset=small", *changes])
    return batch_tokens_for(config, parameters=8_000_000, vocabulary=8000, free=free, peers=peers, **machine)


@settings(deadline=None)
@given(free=st.integers(0, 1 << 44), more=st.integers(0, 1 << 40))
def test_a_budget_is_a_power_of_two_within_bounds_and_grows_with_memory(free, more):
    tokens = fitted(free)
    assert 512 <= tokens <= 65_536 and tokens.bit_count() == 1
    assert tokens <= fitted(free + more)


def test_what_takes_memory_makes_batches_smaller():
    plain = fitted(8 * GIB)
    assert 512 < plain < 65_536
    for change in ("train.r_drop=5.0", "model.attention_dropout=0.1", "model.d_ff=8192"):
        assert fitted(8 * GIB, change) < plain, change


def test_processes_share_the_memory_of_a_computer_and_add_that_of_others():
    alone = fitted(8 * GIB)
    assert fitted(8 * GIB, peers=Peers(0, 2, 0, 2)) <= alone
    assert fitted(8 * GIB, threads=32) < alone  # each thread has a gradient and logits of its own
    assert fitted(8 * GIB, peers=Peers(0, 4, 0, 1)) >= 2 * alone
    assert fitted(8 * GIB, peers=Peers(0, 4, 0, 4), is_shared=False) >= 2 * alone  # GPUs


def test_where_nobody_knows_how_much_is_free_there_is_a_default():
    assert fitted(None) == Config().train.batch_tokens
    free = free_memory(torch.device("cpu"))
    assert free is None or free > 0


@pytest.mark.parametrize(
    ("folder", "limit", "used", "held"),
    [
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_files_that_a_container_only_holds_for_next_time_count_as_free(monkeypatch, folder, limit, used, held):
    files = {
        f"{folder}/{limit}": f"{4 * GIB}\n",
        f"{folder}/{used}": f"{3 * GIB}\n",
        f"{folder}/memory.stat": f"anon {GIB}\n{held} {2 * GIB}\n",
        "/proc/meminfo": f"MemTotal: {32 * GIB // 1024} kB\nMemAvailable: {16 * GIB // 1024} kB\n",
    }
    monkeypatch.setattr(budget, "_read", lambda path: files.get(str(path)))
    assert free_memory(torch.device("cpu")) == 3 * GIB
    files[f"{folder}/{limit}"] = "max\n"
    assert free_memory(torch.device("cpu")) == 16 * GIB
    files[f"{folder}/{limit}"] = f"{4 * GIB}\n"
    del files[f"{folder}/memory.stat"]
    assert free_memory(torch.device("cpu")) == GIB
    # A group of our own inside it, as a batch system would create.
    kinds = "4:memory:" if folder.endswith("memory") else "0::"
    files["/proc/self/cgroup"] = f"9:cpu,cpuacct:/\n{kinds}/jobs/ours\n"
    assert free_memory(torch.device("cpu")) == GIB
    files |= {f"{folder}/jobs/ours/{limit}": f"{GIB}\n", f"{folder}/jobs/ours/{used}": f"{GIB // 2}\n"}
    assert free_memory(torch.device("cpu")) == GIB // 2


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "tiny"},
        {"preset": "small"},
        {"preset": "tiny", "attention_dropout": 0.1},
        {"preset": "tiny", "positions": "relative", "norm": "pre"},
        {"preset": "tiny", "positions": "alibi"},
    ],
    ids=str,
)
@pytest.mark.parametrize("length", [2, 8, 30, 202])
@pytest.mark.parametrize("one_core", [True, False])
def test_a_token_keeps_no_more_than_the_formula_says(options, length, one_core):
    """What autograd stores for the backward pass, each memory block counted once, against the formula."""
    config, rows = ModelConfig(**options), -(-240 // length)
    model = Transformer(config, 50, 50).train()
    body = Twin(model, Masks(1), one_core=one_core).train()
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    held = {}

    def hold(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            held[storage.data_ptr()] = storage
        return tensor

    ids = torch.randint(5, 50, (rows, length))
    with torch.autograd.graph.saved_tensors_hooks(hold, lambda tensor: tensor):
        Objective(body, smoothing=0.1)(ids, ids)
    kept = sum(storage.nbytes() for storage in held.values())
    assert kept <= rows * length * budget._kept(config, longest=length) * budget.NUMBER


def test_auto_is_a_number_from_then_on(desk, monkeypatch):  # noqa: F811
    monkeypatch.setattr("vitrail.train.run.free_memory", lambda device: GIB // 4)
    run = desk.run("run", train__batch_tokens="auto", train__max_steps=2)
    found = tomllib.loads((run / "config.toml").read_text(encoding="utf-8"))["train"]["batch_tokens"]
    assert isinstance(found, int)
    monkeypatch.setattr("vitrail.train.run.free_memory", lambda device: 0)
    desk.run("run", train__batch_tokens="auto")
    desk.run("whole", train__batch_tokens=found)
    assert checkpoint(run, 4)["model.safetensors"] == checkpoint(desk.folder / "whole", 4)["model.safetensors"]
    with pytest.raises(TrainingError, match=r"train\.batch_tokens"):
        desk.run("run", train__batch_tokens=found + 1)


@pytest.mark.parametrize("wrong", ["many", "0", "1.5", "true"])
def test_a_budget_that_is_none_is_refused_by_name(wrong):
    with pytest.raises(ConfigError, match="'batch_tokens' is") as caught:
        load_config(None, overrides=[f"train.batch_tokens={wrong}"])
    assert "auto" in caught.value.fix and "train" in caught.value.where


# running out of memory


def torch_runs_out(*_arguments):
    torch.empty(1 << 60)


def python_runs_out(*_arguments):
    raise MemoryError


@pytest.mark.parametrize("run_out", [torch_runs_out, python_runs_out])
def test_a_batch_that_does_not_fit_is_named_with_the_setting_to_change(desk, monkeypatch, run_out):  # noqa: F811
    desk.run("run", train__max_steps=2)
    monkeypatch.setattr(Objective, "forward", run_out)
    with pytest.raises(TrainingError, match="not enough memory for a batch of") as caught:
        desk.run("run")
    assert "pairs.tsv line" in caught.value.where
    assert "train.batch_tokens = 100" in caught.value.fix and "train.accumulate = 2" in caught.value.fix


def test_a_single_pair_that_does_not_fit_is_to_be_left_out(desk, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Objective, "forward", python_runs_out)
    with pytest.raises(TrainingError, match="not enough memory for a batch of 1 pairs") as caught:
        desk.run("run", train__batch_tokens=1)
    assert "data.max_length below" in caught.value.fix


def test_an_optimizer_that_does_not_fit_is_named_too(desk, monkeypatch):  # noqa: F811
    monkeypatch.setattr(torch.optim.Adam, "step", torch_runs_out)
    with pytest.raises(TrainingError, match="not enough memory"):
        desk.run("run")


def test_other_faults_stay_what_they_are(desk, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Objective, "forward", lambda *_: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        desk.run("run")


# device and precision

LONGER = {
    "train__max_steps": 30,
    "train__checkpoint_every": 10,
    "train__schedule": "constant",
    "train__peak_rate": 0.01,
}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_needs_a_gpu_is_refused_by_name_where_there_is_none():
    assert choose_device(Config().train, ALONE) == torch.device("cpu")
    for change, said in (("train.device=cuda", "torch finds no GPU"), ("train.precision=fp16", "needs a GPU")):
        with pytest.raises(ConfigError, match=said) as caught:
            choose_device(load_config(None, overrides=[change]).train, ALONE)
        assert change.partition("=")[0].partition(".")[2] in caught.value.where and caught.value.fix


def test_the_device_may_change_when_a_run_goes_on_and_precision_may_not(desk):  # noqa: F811
    desk.run("run", train__max_steps=2)
    desk.run("run", train__max_steps=3, train__device="cpu")
    with pytest.raises(TrainingError, match=r"train\.precision was 'float32', now 'bf16'"):
        desk.run("run", train__precision="bf16", train__device="cpu")


@pytest.fixture
def any_precision(monkeypatch):
    """Allow GPU precisions on a CPU: they work, but slowly."""
    monkeypatch.setattr("vitrail.train.run.choose_device", lambda *_: torch.device("cpu"))


@pytest.mark.parametrize(
    ("precision", "options"),
    [
        ("bf16", {"train__r_drop": 1.0, "model__attention_dropout": 0.1}),
        pytest.param("bf16", {}, marks=pytest.mark.slow),
        pytest.param("fp16", {}, marks=pytest.mark.slow),
        pytest.param("fp16", {"train__r_drop": 1.0}, marks=pytest.mark.slow),
    ],
)
def test_half_precision_learns_as_float32_does(desk, any_precision, precision, options):  # noqa: F811
    whole = events(desk.run("whole", **LONGER, **options), "step")
    run = desk.run("half", **LONGER, **options, train__precision=precision)
    half = events(run, "step")
    assert half[0]["loss"] == pytest.approx(whole[0]["loss"], rel=0.01)
    assert half[0]["loss"] != whole[0]["loss"]
    assert half[-1]["loss"] < half[0]["loss"] - 0.5
    assert half[-1]["loss"] == pytest.approx(whole[-1]["loss"], rel=0.1)


@pytest.mark.parametrize("positions", POSITIONS)
def test_half_precision_goes_with_every_kind_of_positions(desk, any_precision, positions):  # noqa: F811
    desk.run("run", train__precision="bf16", model__positions=positions)


@pytest.mark.parametrize(("has", "warns"), [(True, False), (False, True)])
def test_a_processor_without_instructions_for_bf16_is_told_of(desk, monkeypatch, has, warns):  # noqa: F811
    known = {"architecture": "x86_64", "avx512_bf16": has}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    said = []
    listener = Silence()
    monkeypatch.setattr(listener, "note", said.append)
    train(desk.config(train__precision="bf16", train__max_steps=1), desk.folder / "run", listener)
    assert any("no bf16 instructions" in line for line in said) == warns


def test_a_run_with_all_that_the_recipes_use_goes_on_to_the_last_bit(desk):  # noqa: F811
    settings = {
        "train__precision": "bf16",
        "train__optimizer": "muon",
        "train__ema": 0.9,
        "train__use": "ema",
        "train__r_drop": 4.0,
        "train__r_drop_after": 3,
        "train__schedule": "constant",
        "train__peak_rate": 0.01,
    }
    whole = desk.run("whole", **settings, train__max_steps=6)
    for steps in (2, 4, 6):  # before R-Drop begins, and after
        parted = desk.run("parted", **settings, train__max_steps=steps)
    for name in ("model.safetensors", "ema.safetensors", "optimizer.safetensors", "random.safetensors"):
        assert checkpoint(whole, 6)[name] == checkpoint(parted, 6)[name], name
    losses = [[event["loss"] for event in events(run, "step")] for run in (whole, parted)]
    assert losses[0] == losses[1] and losses[0][3] > losses[0][2]


@pytest.mark.slow
def test_a_run_in_fp16_learns_and_goes_on_to_the_last_bit_with_its_scale(desk, any_precision):  # noqa: F811
    settings = {**LONGER, "train__precision": "fp16"}
    whole = desk.run("whole", **settings)
    desk.run("parted", **{**settings, "train__max_steps": 10})
    parted = desk.run("parted", **settings)
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert checkpoint(whole, 20)[name] == checkpoint(parted, 20)[name]
    assert events(whole, "step")[-1]["loss"] < events(whole, "step")[0]["loss"] - 0.5
    scales = [json.loads(checkpoint(run, 20)["state.json"])["scaler"] for run in (whole, parted)]
    assert scales[0] == scales[1] and scales[0]["scale"] >= 1


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_gradients_that_overflow_fp16_cost_a_step_and_lower_the_scale(
    desk,  # noqa: F811
    any_precision,
    monkeypatch,
    optimizer,
):
    real = torch.amp.GradScaler
    monkeypatch.setattr(torch.amp, "GradScaler", lambda *given, **options: real(*given, init_scale=2.0**40, **options))
    run = desk.run("run", train__precision="fp16", train__optimizer=optimizer)
    assert json.loads(checkpoint(run, 4)["state.json"])["scaler"]["scale"] == 2.0**36
    folder = ModelFolder.open(run)
    torch.manual_seed(folder.config.train.seed)
    untrained = folder.new_model().state_dict()
    saved = load_file(run / "checkpoints" / "step-000004" / "model.safetensors")
    assert all(torch.equal(saved[name], value) for name, value in untrained.items())
