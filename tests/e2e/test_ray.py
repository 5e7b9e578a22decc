"""`vitrail translate --ray` on a cluster of two workers, which this computer plays; one of them is killed."""

import subprocess
import sys

import pytest

from vitrail.on_ray import stream_on_ray
from vitrail.translator import CHUNK, change_settings, load

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]

SHARDS = 8
LINES = [f"j'ai {number} chats et il est fatigué" for number in range(SHARDS * CHUNK - 100)]


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        from ray.cluster_utils import Cluster

        quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        patch.setenv("RAY_ADDRESS", cluster.address)
        cluster.workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
        yield cluster
        cluster.shutdown()


@pytest.fixture(scope="module")
def translator():
    return load("builtin", threads=1)


def test_a_file_comes_out_as_without_a_cluster_and_can_be_resumed(cluster, tmp_path):
    lines = LINES[: 2 * CHUNK + 10]
    (tmp_path / "in.fr").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "vitrail", "translate", "builtin", "--to", "en", "--beam-size", "1"]
    command += ["--input", str(tmp_path / "in.fr"), "--threads", "1", "--output"]
    subprocess.run([*command, str(tmp_path / "here")], check=True)
    (tmp_path / "bad.fr").write_bytes((tmp_path / "in.fr").read_bytes() + b"\xff\n")
    bad = [str(tmp_path / "bad.fr") if part.endswith("in.fr") else part for part in command]
    stopped = subprocess.run([*bad, str(tmp_path / "there"), "--ray"], check=False, capture_output=True, text=True)
    assert stopped.returncode == 2
    assert f"line {len(lines) + 1}" in stopped.stderr
    assert f"{len(lines):,} lines are complete" in stopped.stderr
    subprocess.run([*command, str(tmp_path / "there"), "--ray", "--resume"], check=True)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_the_shards_of_a_lost_worker_are_done_again(cluster, translator):
    greedy = change_settings(translator.config, {"beam_size": 1})
    found = []
    for translation in stream_on_ray(translator, LINES, to="en", decode=greedy):
        if not found:  # the first shard is back, so both workers are at work on others
            cluster.remove_node(cluster.workers.pop(), allow_graceful=False)
        found.append(translation)
    here = list(translator.stream(LINES, to="en", decode=greedy))
    assert [one.source for one in found] == LINES
    assert [one.text for one in found] == [one.text for one in here]
    # Batches that were cut differently, once their best size was measured, change the last digits.
    assert [one.score for one in found] == pytest.approx([one.score for one in here], abs=1e-4)
