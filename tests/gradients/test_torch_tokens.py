"""Tokens of a language model's batch, from its last layer: the set, the counts or an interval, the states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelinf_gradients.batches.tokens import TokenLabels, token_labels

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional
V, D, T = 500, 64, 24


class Causal(nn.Module):  # type: ignore[misc,name-defined]
    """A causal transformer of one layer at random initialisation."""

    def __init__(self, bias: bool, tied: bool, spread: float) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(V, D), nn.Parameter(0.02 * torch.randn(T, D))
        self.block = nn.TransformerEncoderLayer(D, 4, 2 * D, dropout=0, batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, V, bias=bias)
        nn.init.normal_(self.embed.weight, std=0.02)
        nn.init.normal_(self.head.weight, std=spread)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.norm(self.block(self.embed(tokens) + self.place, src_mask=mask, is_causal=True)))


def played(
    texts: int = 1,
    *,
    bias: bool = False,
    tied: bool = False,
    spread: float = 0.02,
    repeated: bool = False,
    ignored: int = 0,
    told: bool = True,
    seed: int = 0,
) -> tuple[TokenLabels, dict[int, int], Any]:
    """Return what is found, how often every token is a label, and the states at all places."""
    torch.manual_seed(seed)
    module, rng = Causal(bias, tied, spread), np.random.default_rng(seed)
    drawn = rng.zipf(1.3, (texts, T + 1)) % V if repeated else rng.integers(V, size=(texts, T + 1))
    tokens = torch.from_numpy(drawn)
    inputs, labels = tokens[:, :-1], tokens[:, 1:].clone()
    labels[:, :ignored] = -100
    states: list[Any] = []
    module.norm.register_forward_hook(lambda _, entering, left: states.append(left.detach().numpy()))
    own = [module.head.weight] + [module.head.bias] * bias
    loss = functional.cross_entropy(module(inputs).flatten(0, 1), labels.flatten(), ignore_index=-100)
    parts = [part.numpy() for part in torch.autograd.grad(loss, own)]
    values, counts = np.unique(labels[labels >= 0].numpy(), return_counts=True)
    found = token_labels(
        parts[0],
        module.head.weight.detach().numpy(),
        bias_gradient=parts[1] if bias else None,
        places=int(counts.sum()) if told else 0,
        tied=tied,
    )
    return found, dict(zip(values.tolist(), counts.tolist(), strict=True)), (states[0], labels.numpy())


@pytest.mark.parametrize("spread", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("texts", [1, 8])
def test_a_bias_proves_the_counts_whatever_the_probabilities(texts: int, spread: float) -> None:
    found, truth, _ = played(texts, bias=True, repeated=True, spread=spread, ignored=3)

    assert found.proved
    assert set(found.tokens.tolist()) <= set(truth)
    assert all(low <= truth[k] <= high for k, low, high in zip(found.tokens, found.least, found.most, strict=True))
    if spread == 0.02 and texts == 1:
        assert found.exact
        assert dict(zip(found.tokens.tolist(), found.least.tolist(), strict=True)) == truth


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("ignored", [0, 5])
def test_distinct_tokens_come_with_their_states(told: bool, ignored: int) -> None:
    found, truth, (states, labels) = played(told=told, ignored=ignored, seed=1)

    assert dict(zip(found.tokens.tolist(), found.least.tolist(), strict=True)) == truth
    assert found.exact
    assert found.places == T - ignored
    assert found.states is not None
    order = np.argsort(labels[0, ignored:])
    assert found.states == pytest.approx(states[0, ignored:][order], abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("texts", [1, 2, 4])
@pytest.mark.parametrize("spread", [0.02, 0.05, 0.1, 0.3])
def test_what_is_said_of_repeated_tokens_is_true(seed: int, texts: int, spread: float) -> None:
    """Where d places and more are behind a gradient intervals are left; where no gap is wide, nothing is said."""
    found, truth, _ = played(texts, repeated=True, spread=spread, seed=seed)

    if spread == 0.02 and texts <= 2:
        assert found.tokens.tolist() == list(truth)
    assert len(found.tokens) == 0 or found.tokens.tolist() == list(truth)
    assert all(low <= truth[k] <= high for k, low, high in zip(found.tokens, found.least, found.most, strict=True))
    assert texts > 1 or spread > 0.02 or (found.least == found.most).mean() > 0.5


def test_a_tied_head_tells_labels_and_inputs_together() -> None:
    found, truth, _ = played(tied=True)

    assert set(truth) <= set(found.tokens.tolist())
    assert len(found.tokens) <= len(truth) + 1
    assert not found.exact
