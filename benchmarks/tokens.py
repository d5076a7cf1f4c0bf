"""Label tokens from the last layer's gradient of a causal transformer at random initialisation.

Usage::

    python benchmarks/tokens.py                # needs PyTorch; V = 50 257, d = 256, T = 128, 4 layers; a minute

Tokens are all distinct, or drawn by Zipf's law (exponent 1.3) so that many repeat; so many places have a label. A row
says whether the set is right, of how many of its tokens the count is known and whether all are within their intervals,
whether the states came out, the processor time of the attack alone, and the most memory of the process until then.

The last line is the subspace test of DAGER (Petrov et al., NeurIPS 2024) in kind, on a text of distinct tokens: which
embedding lies in the span of the first attention's gradient, place by place. It tells the order, which a head does not.
Batches of texts are its second step, through the second attention, and that of SOMP and TIGER (2026): not played.
"""

from __future__ import annotations

import itertools
import resource
import time
from typing import Any

import numpy as np
import torch
from torch import nn

from labelinf_gradients.batches.tokens import token_labels

_VOCABULARY, _WIDTH, _PLACES, _LAYERS = 50_257, 256, 128, 4
_HEADS = ("no bias", "bias", "tied")


class Causal(nn.Module):
    """A causal language model, its layers normalised first, as GPT-2's are."""

    def __init__(self, *, bias: bool, tied: bool) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(_VOCABULARY, _WIDTH), nn.Parameter(0.02 * torch.randn(_PLACES, _WIDTH))
        layer = nn.TransformerEncoderLayer(_WIDTH, 4, 4 * _WIDTH, 0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, _LAYERS, nn.LayerNorm(_WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(_WIDTH, _VOCABULARY, bias=bias)
        nn.init.normal_(self.embed.weight, std=0.02)
        nn.init.normal_(self.head.weight, std=0.02)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.body(self.embed(tokens) + self.place, mask=mask, is_causal=True))


def row(texts: int, kind: str, law: str, places: int) -> str:
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), Causal(bias=kind == "bias", tied=kind == "tied")
    shape = (texts, _PLACES + 1)
    drawn = rng.zipf(1.3, shape) % _VOCABULARY if law == "Zipf" else rng.choice(_VOCABULARY, shape, replace=False)
    tokens = torch.from_numpy(drawn)
    logits, labels = model(tokens[:, :-1]).flatten(0, 1)[:places], tokens[:, 1:].flatten()[:places]
    loss = nn.functional.cross_entropy(logits, labels)
    parts = [part.numpy() for part in torch.autograd.grad(loss, list(model.head.parameters()))]
    truth, counts = np.unique(labels.numpy(), return_counts=True)
    weights, bias = model.head.weight.detach().numpy(), parts[1] if kind == "bias" else None
    begun = time.process_time()
    found = token_labels(parts[0], weights, bias_gradient=bias, places=places, tied=kind == "tied")
    spent, memory = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    same = np.array_equal(found.tokens, truth)
    within = same and bool(((found.least <= counts) & ((counts <= found.most) | (found.most == 0))).all())
    told = f"{int((found.least == found.most).sum())} of {len(truth)}" if within else "FALSE"
    right = "exact" if same else f"{len(np.intersect1d(truth, found.tokens))} of {len(truth)}, {len(found.tokens)} told"
    cells = texts, places, kind, law, right, told if same else "-", "no" if found.states is None else "yes"
    return "".join(f"| {cell} " for cell in cells) + f"| {spent:.1f} | {memory:.1f} |"


def dager() -> str:
    torch.manual_seed(0)
    model, tokens = Causal(bias=False, tied=False), torch.randperm(_VOCABULARY)[None, : _PLACES + 1]
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    first = model.body.layers[0]
    whole, own = torch.autograd.grad(loss, [model.head.weight, first.self_attn.in_proj_weight])
    begun = time.process_time()
    found = token_labels(whole.numpy(), model.head.weight.detach().numpy())
    told = time.process_time() - begun
    _, values, right = torch.linalg.svd(own, full_matrices=False)
    basis, seen = right[values > 1e-5 * values[0]], 0
    for at in range(_PLACES):
        entering = first.norm1((model.embed.weight + model.place[at]).detach()).detach()
        inside = (entering @ basis.T).norm(dim=1) > 0.999 * entering.norm(dim=1)
        seen += inside.nonzero().flatten().tolist() == [int(tokens[0, at])]
    head, spent = len(np.intersect1d(found.tokens, tokens[0, 1:])), time.process_time() - begun - told
    return f"head: {head} of {_PLACES} tokens in {told:.1f} s; attention: {seen} with their places in {spent:.1f} s"


def main() -> int:
    print("| texts | places | head | tokens | set | counts known | states | CPU s | GiB |\n" + "|---" * 9 + "|")
    games = [(n, *game, n * _PLACES) for n in (1, 4) for game in itertools.product(_HEADS, ("distinct", "Zipf"))]
    for game in [*games, *((2, "no bias", "distinct", places) for places in (192, 240, 252, 253, 254, 255, 256))]:
        print(row(*game), flush=True)
    print(dager())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
