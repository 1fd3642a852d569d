"""What the rungs built from bytes must say, whatever the sliders' defaults become."""

from __future__ import annotations

import numpy as np
import pytest

from widgets import load
from widgets.facts.tables import row


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_prefill_of_the_chat_service_is_near_the_published_times(gpus):
    """H200 and H100 have one peak and one link, and prefill asks for nothing else."""
    published = row(f"measurements.llama_70b_h200_tp{gpus}_prefill_8k_s").value
    result = load("chat_service")(input_tokens=8192, gpus_per_instance=gpus)
    assert result.prefill_s_from_bytes == pytest.approx(published, rel=0.06)
    mfu = row(f"measurements.llama_70b_h200_tp{gpus}_prefill_mfu").value
    assert result.prefill_mfu_from_bytes == pytest.approx(mfu, rel=0.06)


def test_gpus_and_precision_of_an_instance_move_the_fleet():
    e = load("chat_service")
    by_gpus = {gpus: e(gpus_per_instance=gpus).total_gpus_from_bytes for gpus in (1, 2, 4, 8, 16)}
    assert by_gpus[2] < by_gpus[1], "too little memory beside the weights"
    assert by_gpus[2] < by_gpus[4] < by_gpus[8], "launches and all-reduces do not shrink"
    assert by_gpus[16] > 3 * by_gpus[8], "collectives that cross the network"
    for gpus in (2, 4, 8):
        wide = e(gpus_per_instance=gpus, bytes_per_parameter=2).total_gpus_from_bytes
        assert wide > 1.3 * by_gpus[gpus]


@pytest.mark.parametrize(
    "impossible",
    [
        {"gpus_per_instance": 1, "bytes_per_parameter": 2},
        {"gpus_per_instance": 64, "tpot_target_s": 0.02},
        {"model_parameters": 5e11, "gpus_per_instance": 4},
    ],
)
def test_an_instance_that_cannot_serve_is_red(impossible):
    result = load("chat_service")(**impossible)
    assert not result.serves_from_bytes
    assert not result.survives_instance_loss
    assert result.total_gpus_from_bytes == 0


def test_slots_and_memory_cap_the_batch():
    e = load("multi_lora")
    kept = np.geomspace(1e8, 4.5e10, 60)
    result = e(gpu_adapter_bytes=kept)
    runs = np.minimum(np.minimum(256, result.room_from_bytes), result.batch_for_slots)
    assert np.all(result.running_from_bytes == runs)
    assert np.all(result.distinct_from_bytes <= result.adapter_slots * 1.005)
    best = int(np.argmax(result.output_tokens_per_s_from_bytes))
    assert 0 < best < len(kept) - 1, "neither no slots nor no KV"
    assert result.room_from_bytes[best] == pytest.approx(result.batch_for_slots[best], rel=0.2)


def test_launches_of_lora_do_not_depend_on_its_adapters():
    e = load("multi_lora")
    alone = e(adapters=1, batch_size=1)
    assert alone.lora_added_s_from_bytes > alone.launch_overhead_s
    assert e(adapters=1).lora_added_s_from_bytes == pytest.approx(alone.lora_added_s_from_bytes)
