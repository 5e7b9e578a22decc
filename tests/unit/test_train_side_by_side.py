"""A batch in shares, a thread for each: the same gradient, and the same run whenever it is repeated."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_train_settings import checkpoint, desk  # noqa: F401  (desk is a fixture)
from threadpoolctl import threadpool_info

from vitrail.config import ModelConfig, TrainConfig
from vitrail.config.positions import POSITIONS
from vitrail.data import Batch
from vitrail.errors import ConfigError
from vitrail.model import Transformer
from vitrail.text import PAD
from vitrail.train.device import make_scaler
from vitrail.train.gradients import Gradients
from vitrail.train.learner import Learner
from vitrail.train.optimizer import make_optimizer
from vitrail.train.peers import ALONE
from vitrail.train.side_by_side import SMALLEST, SideBySide, _Sum

VOCABULARY = 50
CPU = torch.device("cpu")
THREADS = {threads: SideBySide(threads) for threads in range(1, 6)}


def make_batch(rows, width=20):
    random = np.random.default_rng(rows)
    ids = random.integers(5, VOCABULARY, (2, rows, width))
    lengths = random.integers(1, width + 1, (2, rows, 1))
    source, target = np.where(np.arange(width) < lengths, ids, PAD)
    return Batch(source, target, epoch=0, index=0, lines=())


def make_gradients(threads, **settings):
    torch.manual_seed(1)
    config = ModelConfig(d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=1, **settings)
    model = Transformer(config, VOCABULARY, VOCABULARY).double().train()
    learner = Learner(model, make_optimizer(model, TrainConfig()), make_scaler(CPU, "float32"), None, CPU)
    found = Gradients(learner, ALONE, precision="float32", smoothing=0.1)
    found.side_by_side = SideBySide(threads)
    return found


def fill(gradients, batches):
    gradients.learner.model.zero_grad(set_to_none=True)
    loss = gradients.fill(batches, sum(batch.target_tokens for batch in batches))
    return loss, {name: parameter.grad.clone() for name, parameter in gradients.learner.model.named_parameters()}


def watched(gradients, watch):
    """Let `watch` see every share before its loss is computed."""
    look = gradients._twin
    gradients._twin = lambda share: (watch(share), look(share))[1]
    return gradients


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("positions", POSITIONS)
def test_shares_add_up_to_the_whole(threads, positions):
    settings, seen = {"dropout": 0.0, "positions": positions}, []
    batches = [make_batch(80), make_batch(81)]  # accumulated
    loss, wanted = fill(watched(make_gradients(1, **settings), seen.append), batches)
    assert [share.number for share in seen] == [0, 0]
    in_shares, found = fill(watched(make_gradients(threads, **settings), seen.append), batches)
    assert sorted(share.number for share in seen[2:]) == sorted([*range(threads)] * 2)
    assert in_shares == pytest.approx(loss, rel=1e-12)
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(rows=st.integers(1, 40), threads=st.integers(1, 5))
def test_shares_have_every_row_once_and_as_many(rows, threads):
    taken, ids = [], np.repeat(np.arange(1, rows + 1)[:, None], SMALLEST, 1)  # every row is worth a share

    def look(share):
        assert torch.equal(share.source_BS, share.target_BT)
        taken.append(share.source_BS[:, 0].tolist())
        return weight * share.source_BS[:, 0].sum()

    weight = torch.ones((), requires_grad=True)
    batch = Batch(ids, ids, epoch=0, index=0, lines=())
    loss, (gradient,) = THREADS[threads].gradient(look, [weight], batch, tokens=rows)
    assert len(taken) == THREADS[threads].shares(batch) >= min(rows, threads, 2)
    assert sorted(row for some in taken for row in some) == list(range(1, rows + 1))
    assert max(map(len, taken)) - min(map(len, taken)) <= 1
    assert loss == sum(range(1, rows + 1)) and gradient.item() == pytest.approx(loss / rows)


def test_what_shares_find_is_added_up_in_their_order():
    values = [torch.tensor([value]) for value in (1e8, 1.0, -1e8, 1.0)]  # in another order, another sum
    wanted = ((values[0] + values[1]) + values[2]) + values[3]
    for order in permutations(range(4)):
        total = _Sum()
        for number in order:
            total.hand_in(number, float(values[number]), (values[number].clone(),))
        assert torch.equal(total.gradients[0], wanted)


def test_openblas_has_its_threads_back_after_a_step():
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["internal_api"] == "openblas"]

    before, during = threads(), []
    fill(watched(make_gradients(2, dropout=0.0), lambda _: during.append(threads())), [make_batch(60)])
    assert during == [[1] * len(before)] * 2
    assert threads() == before


def test_a_batch_is_split_if_it_is_worth_it():
    parts = SideBySide(4).shares
    assert parts(make_batch(1, width=9 * SMALLEST)) == 1  # one row is one share
    assert parts(make_batch(10, width=20)) == 1
    assert parts(make_batch(SMALLEST // 10 + 1, width=20)) == 2
    assert parts(make_batch(SMALLEST * 3 // 20 + 1, width=20)) == 2  # not 3, which would leave a core idle
    assert parts(make_batch(SMALLEST, width=20)) == 4
    assert parts(make_batch(3, width=8 * SMALLEST)) == 2  # too few rows for more


@pytest.mark.parametrize(
    ("threads", "worth", "parts"), [(2, 1, 1), (2, 2, 2), (3, 2, 2), (5, 4, 4), (7, 6, 6), (8, 3, 2), (8, 4, 4)]
)
def test_few_cores_are_idle_and_no_batch_that_can_be_split_is_whole(threads, worth, parts):
    assert SideBySide(threads).shares(make_batch(worth * SMALLEST // 20 + 1)) == parts


def test_dropout_is_the_same_whenever_the_generator_is_and_another_in_every_share():
    def masks_and_gradients():
        gradients = make_gradients(3, dropout=0.3, attention_dropout=0.2, activation_dropout=0.1)
        torch.manual_seed(5)
        return fill(gradients, [make_batch(60)])

    (loss, first), (again, second) = masks_and_gradients(), masks_and_gradients()
    assert loss == again
    assert all(torch.equal(first[name], second[name]) for name in first)
    # With equal masks, equal rows would have equal losses in every share.
    row = make_batch(1)
    alike = Batch(np.repeat(row.source_BS, 64, 0), np.repeat(row.target_BT, 64, 0), epoch=0, index=0, lines=())
    gradients, losses = make_gradients(2, dropout=0.3), []
    gradients._loss = lambda *of, look=gradients._loss: (losses.append(found := look(*of)), found)[1]
    fill(gradients, [alike])
    assert len(losses) == 2 and losses[0].item() != losses[1].item()


def test_an_error_in_a_share_is_the_error_of_the_step():
    gradients, seen = watched(make_gradients(2, positions="learned", max_positions=4), lambda _: seen.append(1)), []
    with pytest.raises(ConfigError, match="longer than the 4 positions"):
        fill(gradients, [make_batch(60)])
    assert len(seen) == 2


def test_a_run_on_two_threads_goes_on_to_the_last_bit(desk):  # noqa: F811
    settings = {"train__threads": 2, "train__batch_tokens": 4 * SMALLEST, "model__dropout": 0.2}
    whole = desk.run("whole", **settings)
    desk.run("parted", **settings, train__max_steps=2)
    parted = desk.run("parted", **settings)
    for name in ("model.safetensors", "optimizer.safetensors", "random.safetensors"):
        assert checkpoint(whole, 4)[name] == checkpoint(parted, 4)[name], name


def test_a_few_parts_have_all_cores_between_them():
    cores = []
    gradients = watched(make_gradients(4, dropout=0.0), lambda _: cores.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    for rows in (SMALLEST // 10 + 1, SMALLEST // 5 + 1, *[SMALLEST // 10 + 1] * 4):
        fill(gradients, [make_batch(rows)])
        assert torch.get_num_threads() == before
        with ThreadPoolExecutor(1) as another:
            assert another.submit(torch.get_num_threads).result() == before
    assert cores == [2, 2, 1, 1, 1, 1, *[2] * 8]


def test_threads_work_on_one_core_and_leave_the_others_as_they_were():
    before = torch.get_num_threads()
    side_by_side = SideBySide(3)
    assert [side_by_side.pool.submit(torch.get_num_threads).result() for _ in range(6)] == [1] * 6
    assert torch.get_num_threads() == before
    with ThreadPoolExecutor(1) as another:
        assert another.submit(torch.get_num_threads).result() == before
