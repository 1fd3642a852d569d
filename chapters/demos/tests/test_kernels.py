"""Each kernel against its reference: random shapes, and the awkward ones by name."""

from __future__ import annotations

import random

import notebooks
import pytest
import torch

common = notebooks.common
DTYPES = common.dtypes()
SEEDS = range(6)


def seeded(seed: int) -> random.Random:
    torch.manual_seed(seed)
    return random.Random(seed)


def any_dtype(draw: random.Random) -> torch.dtype:
    return draw.choice(DTYPES)


# --- segmented LoRA -------------------------------------------------------------------------


def check_lora(sizes, rank, k, n, dtype):
    lora = notebooks.module("segmented_lora")
    x, a, b, adapter = lora.example(sizes, rank, k, n, dtype)
    expected = lora.reference(x, a, b, adapter)
    common.assert_close(lora.sgmv(x, a, b, sizes), expected, "SGMV")
    common.assert_close(lora.bgmv(x, a, b, adapter), expected, "BGMV")


@pytest.mark.parametrize("seed", SEEDS)
def test_lora_over_random_shapes(seed):
    draw = seeded(seed)
    sizes = [draw.choice((0, 1, 5, 16, 17)) for _ in range(draw.randint(1, 6))]
    rank = draw.choice((4, 8, 16, 33, 64))
    check_lora(sizes, rank, draw.randint(1, 200), draw.randint(1, 150), any_dtype(draw))


@pytest.mark.parametrize("sizes", [[0], [0, 0, 0], [1], [0, 1, 0], [33]])
def test_lora_of_empty_segments_and_single_rows(sizes):
    torch.manual_seed(0)
    check_lora(sizes, 16, 40, 24, torch.float32)


def test_bgmv_takes_rows_in_any_order():
    lora = notebooks.module("segmented_lora")
    torch.manual_seed(0)
    x, a, b, adapter = lora.example([3, 4, 2], 8, 32, 32, torch.float32)
    shuffled = torch.randperm(9)
    common.assert_close(
        lora.bgmv(x[shuffled], a, b, adapter[shuffled]),
        lora.reference(x, a, b, adapter)[shuffled],
    )


def test_tiles_cover_each_row_once():
    lora = notebooks.module("segmented_lora")
    sizes = [0, 1, 16, 17, 0, 40]
    tiles = lora.segment_tiles(sizes).tolist()
    rows = [
        (adapter, row)
        for adapter, first, end in tiles
        for row in range(first, min(end, first + lora.BLOCK_M))
    ]
    owner = [adapter for adapter, size in enumerate(sizes) for _ in range(size)]
    assert rows == [(adapter, row) for row, adapter in enumerate(owner)]


# --- paged attention ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_gqa_over_random_shapes(seed):
    attention, draw = notebooks.module("paged_attention"), seeded(seed)
    lengths = [draw.choice((0, 1, 7, 16, 33, 60)) for _ in range(draw.randint(1, 3))]
    kv_heads, group, d = draw.choice((1, 2, 3)), draw.choice((1, 4, 5)), draw.choice((16, 32))
    block, dtype = draw.choice((8, 16)), any_dtype(draw)
    k_cache, tables = attention.paged(lengths, block, kv_heads, d, dtype=dtype)
    q = torch.randn(len(lengths), kv_heads * group, d).to(common.device().kind, dtype)
    chosen = draw.choice((None, attention.selection(lengths, draw.randint(1, 20))))
    sizes = torch.tensor(lengths, dtype=torch.int32, device=q.device)
    given = (q, k_cache, torch.randn_like(k_cache), tables, sizes, chosen)
    result = attention.gqa(*given, slices=draw.randint(1, 5), step=draw.choice((16, 32)))
    common.assert_close(result, attention.gqa_reference(*given))


@pytest.mark.parametrize("seed", SEEDS)
def test_mla_over_random_shapes(seed):
    attention, draw = notebooks.module("paged_attention"), seeded(seed)
    lengths = [draw.choice((0, 1, 7, 16, 33, 60)) for _ in range(draw.randint(1, 3))]
    heads, latent, rope, dtype = draw.choice((1, 16, 20)), 32, 16, any_dtype(draw)
    cache, tables = attention.paged(lengths, 16, latent + rope, dtype=dtype)
    q = torch.randn(len(lengths), heads, latent + rope).to(cache.device, dtype)
    chosen = draw.choice((None, attention.selection(lengths, draw.randint(1, 20))))
    sizes = torch.tensor(lengths, dtype=torch.int32, device=q.device)
    given = (q, cache, tables, sizes, latent, (latent + rope) ** -0.5, chosen)
    result = attention.mla(*given, slices=draw.randint(1, 5), step=draw.choice((16, 32)))
    common.assert_close(result, attention.mla_reference(*given))


def test_selecting_every_token_is_dense_attention():
    attention = notebooks.module("paged_attention")
    torch.manual_seed(0)
    cache, tables = attention.paged([40], 16, 48, dtype=torch.float32)
    q, sizes = torch.randn(1, 16, 48), torch.tensor([40], dtype=torch.int32)
    given = (q, cache, tables, sizes, 32, 0.1)
    everything = attention.selection([40], 40)
    common.assert_close(attention.mla(*given, everything), attention.mla(*given))


def test_no_selected_token_gives_zeros():
    attention = notebooks.module("paged_attention")
    cache, tables = attention.paged([40], 16, 48, dtype=torch.float32)
    nothing = torch.full((1, 4), -1, dtype=torch.int32)
    given = (torch.randn(1, 16, 48), cache, tables, torch.tensor([40], dtype=torch.int32), 32, 0.1)
    assert not attention.mla(*given, nothing).any()


# --- grammar mask ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_mask_over_random_shapes(seed):
    grammar, draw = notebooks.module("grammar_mask"), seeded(seed)
    batch, vocabulary = draw.randint(1, 5), draw.choice((1, 31, 32, 33, 1000, 2049))
    rows = sorted(draw.sample(range(batch), draw.randint(0, batch)))
    logits, bitmask = grammar.example(batch, vocabulary, rows, draw.random(), any_dtype(draw))
    expected = grammar.reference(logits.cpu(), bitmask, rows)
    grammar.apply_mask(logits, bitmask, rows)
    assert torch.equal(logits.cpu(), expected)


def test_the_sign_bit_of_a_word_is_a_token():
    grammar = notebooks.module("grammar_mask")
    logits = torch.zeros(1, 32)
    grammar.apply_mask(logits, torch.tensor([[-(2**31)]], dtype=torch.int32), [0])
    assert logits.isfinite().nonzero().tolist() == [[0, 31]]


def test_no_legal_token_is_an_error_that_names_the_rows_and_changes_nothing():
    grammar = notebooks.module("grammar_mask")
    logits, bitmask = grammar.example(4, 40, [1, 2, 3], 1.0, torch.float32)
    before = logits.clone()
    bitmask[1], bitmask[2] = 0, torch.tensor([0, -256])  # the second: bits past the vocabulary
    with pytest.raises(grammar.NoLegalToken, match=r"rows \[2, 3\]"):
        grammar.apply_mask(logits, bitmask, [1, 2, 3])
    assert torch.equal(logits, before)


def test_a_bitmask_too_short_for_the_vocabulary_is_refused():
    grammar = notebooks.module("grammar_mask")
    with pytest.raises(ValueError, match="the vocabulary has 33"):
        grammar.apply_mask(torch.zeros(1, 33), torch.ones(1, 1, dtype=torch.int32), [0])


# --- rejection sampling ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["random", "agree", "opposed"])
def test_verifying_drafts_token_by_token(seed, kind):
    speculation, draw = notebooks.module("rejection_sampling"), seeded(seed)
    batch, k, vocabulary = draw.randint(1, 8), draw.randint(1, 5), draw.choice((2, 17, 64, 4100))
    given = speculation.example(batch, k, vocabulary, kind)
    given = (*given, *speculation.uniform(batch, k))
    tokens = speculation.verify(*given)
    assert torch.equal(tokens, speculation.reference(*given))
    counts = (tokens >= 0).sum(1)
    if kind == "agree":
        assert (counts == k + 1).all() and torch.equal(tokens[:, :k], given[2])
    if kind == "opposed":
        assert (counts == 1).all() and (given[0][torch.arange(batch), 0, tokens[:, 0]] > 0).all()


@pytest.mark.parametrize("pick", [0.0, 1 - 2**-24])
def test_the_ends_of_the_random_numbers_give_tokens_with_a_chance(pick):
    speculation = notebooks.module("rejection_sampling")
    torch.manual_seed(0)
    p, q, drafts = speculation.example(8, 2, 33, "opposed")
    ends = torch.full((8,), pick)
    tokens = speculation.verify(p, q, drafts, torch.rand(8, 2), ends)
    assert (p[torch.arange(8), 0, tokens[:, 0]] > 0).all()


def test_the_output_has_the_target_distribution_and_the_test_can_fail():
    speculation = notebooks.module("rejection_sampling")
    torch.manual_seed(5)
    target, draft = speculation.language(5), speculation.language(5)

    def chances(method, samples):
        tokens = speculation.speculate(method, samples, target, draft)
        return speculation.test_distribution(tokens, target)

    assert min(chances(speculation.verify, 1200)) > 1e-3
    assert min(chances(speculation.reference, 200_000)) > 1e-3
    assert min(chances(speculation.careless, 200_000)) < 1e-6


def test_chance_is_that_of_chi_squared():
    speculation = notebooks.module("rejection_sampling")
    counts = torch.tensor([60.0, 40.0])
    assert speculation.chance(counts, torch.tensor([0.5, 0.5])) == pytest.approx(0.0455, abs=1e-4)


# --- KV blocks ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_gather_and_scatter_over_random_shapes(seed):
    blocks, draw = notebooks.module("gather_kv"), seeded(seed)
    tokens = draw.choice((0, 1, 15, 16, 17, 50))
    shape = (draw.choice((4, 16)), draw.randint(1, 3), draw.choice((1, 30, 64)))
    pool, table = blocks.example(tokens, *shape, any_dtype(draw))
    buffer = blocks.gather(pool, table, tokens)
    assert torch.equal(buffer, blocks.reference(pool, table, tokens))
    other, other_table = torch.zeros_like(pool), table.flip(0)
    blocks.scatter(other, other_table, buffer)
    assert torch.equal(blocks.gather(other, other_table, tokens), buffer)


def test_scatter_leaves_other_blocks_alone():
    blocks = notebooks.module("gather_kv")
    pool = torch.zeros(2, 6, 4, 8)
    blocks.scatter(pool, torch.tensor([4, 1], dtype=torch.int32), torch.ones(2, 5, 8))
    written = pool[0, :, :, 0].nonzero().tolist()
    assert written == [[1, 0], [4, 0], [4, 1], [4, 2], [4, 3]]


def test_more_tokens_than_blocks_is_refused():
    blocks = notebooks.module("gather_kv")
    pool, table = blocks.example(20, 16, 1, 8, torch.float32)
    with pytest.raises(ValueError, match="33 tokens do not fit the 2 blocks"):
        blocks.gather(pool, table, 33)


# --- expert dispatch ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_dispatch_over_random_shapes(seed):
    moe, draw = notebooks.module("expert_dispatch"), seeded(seed)
    experts = draw.randint(1, 12)
    tokens, top_k = draw.choice((0, 1, 5, 33)), draw.randint(1, min(4, experts))
    hidden, inner, skew = draw.randint(1, 90), draw.randint(1, 70), draw.random() < 0.3
    given = moe.example(tokens, experts, top_k, hidden, inner, any_dtype(draw), skew)
    result = moe.dispatch(*given, block_m=draw.choice((16, 32)))
    common.assert_close(result, moe.reference(*given))


def test_every_tile_of_the_worst_split_has_a_program():
    """All rows but one in one expert, the others one each: the most tiles that can be."""
    moe = notebooks.module("expert_dispatch")
    torch.manual_seed(0)
    x, gate_up, down, _, weights = moe.example(20, 6, 1, 32, 16, torch.float32)
    chosen = torch.tensor([0] * 16 + [1, 2, 3, 5])[:, None]
    given = (x, gate_up, down, chosen, weights)
    common.assert_close(moe.dispatch(*given), moe.reference(*given))
