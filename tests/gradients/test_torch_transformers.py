"""Clients as ``transformers`` and ``peft`` write them: adapters, language models, and what their files hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from labelinf_core.cli import main
from labelinf_core.contracts.audited import AuditWord
from labelinf_core.contracts.components import LabelSet
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder
from labelinf_gradients.audit.client import ClientAudit, audit_client
from labelinf_gradients.audit.saved import audit_saved
from labelinf_gradients.audit.updates import UserClient, as_update
from labelinf_gradients.audit.words import answer, lines
from labelinf_gradients.game.own_network import load
from labelinf_gradients.game.torch_network import TorchNetwork
from labelinf_gradients.recovery.tensors import FORMATS

torch = pytest.importorskip("torch")
if os.environ.get("TOX_ENV_NAME") != "torch":  # where both are installed, and what is missing fails
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
import peft  # noqa: E402
import transformers  # noqa: E402

pytestmark = [  # peft asks transformers by a name that is going away, and says what it corrects; audits take their time
    *map(pytest.mark.filterwarnings, ("ignore::FutureWarning", "ignore::UserWarning:peft")),
    pytest.mark.long,
]
Make = Callable[[int, int], Any]
_WIDTH, _CLASSES, _VOCABULARY, _NONE = 12, 6, 64, -100


def gpt2(kind: Any, places: int = _WIDTH + 8, vocabulary: int = _VOCABULARY, **more: Any) -> Make:
    """Return what makes a GPT-2 of one layer from its configuration, without dropout."""
    still = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0, "bos_token_id": 0, "eos_token_id": 1}
    sizes = {"vocab_size": vocabulary, "n_positions": places, "n_embd": 32, "n_layer": 1, "n_head": 2}
    return lambda n, c: kind(transformers.GPT2Config(**sizes, **still, pad_token_id=1, num_labels=c, **more))


def bert(kind: Any, places: int = _WIDTH + 8, vocabulary: int = _VOCABULARY, **more: Any) -> Make:
    """Return what makes a BERT of one layer."""
    still = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "max_position_embeddings": places}
    sizes = {"vocab_size": vocabulary, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return lambda n, c: kind(transformers.BertConfig(**sizes, **still, intermediate_size=64, num_labels=c, **more))


def adapted(base: Make, config: Any) -> Make:
    return lambda n, c: peft.get_peft_model(base(n, c), config)


def bit_fit(base: Make) -> Make:
    def make(n: int, c: int) -> Any:
        module = base(n, c)
        for name, part in module.named_parameters():
            part.requires_grad_("bias" in name)
        return module

    return make


GPT2, BERT = gpt2(transformers.GPT2ForSequenceClassification), bert(transformers.BertForSequenceClassification)
CAUSAL = gpt2(transformers.GPT2LMHeadModel)
MASKED = bert(transformers.BertForMaskedLM)
ADAPTERS: dict[str, Make] = {
    "LoRA and head, GPT-2": adapted(GPT2, peft.LoraConfig(task_type="SEQ_CLS", r=4)),
    "LoRA and head, BERT": adapted(BERT, peft.LoraConfig(task_type="SEQ_CLS", r=4)),
    "LoRA, GPT-2": adapted(GPT2, peft.LoraConfig(r=4)),
    "LoRA, BERT": adapted(BERT, peft.LoraConfig(r=4)),
    "LoRA of the head, BERT": adapted(BERT, peft.LoraConfig(r=4, target_modules=["classifier", "query"])),
    "IA3 and head, BERT": adapted(BERT, peft.IA3Config(task_type="SEQ_CLS")),
    "IA3, GPT-2": adapted(GPT2, peft.IA3Config()),
    "IA3, BERT": adapted(BERT, peft.IA3Config()),
    "prompts and head, BERT": adapted(BERT, peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=4)),
    "BitFit, GPT-2": bit_fit(GPT2),
    "BitFit, BERT": bit_fit(BERT),
}
LANGUAGE: dict[str, Make] = {
    "tied": CAUSAL,
    "untied": gpt2(transformers.GPT2LMHeadModel, tie_word_embeddings=False),
    "masked": MASKED,
    "prefix": adapted(CAUSAL, peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)),
    "LoRA": adapted(CAUSAL, peft.LoraConfig(task_type="CAUSAL_LM", r=4)),
}


def gradient(module: Any, loss: Any) -> dict[str, Any]:
    own = {name: part for name, part in module.named_parameters() if part.requires_grad}
    return dict(zip(own, torch.autograd.grad(loss, list(own.values()), materialize_grads=True), strict=True))


def loss_of_classes(module: Any, x: Any, y: Any) -> Any:
    return module(input_ids=x, labels=y).loss


def loss_of_answers(module: Any, x: Any, y: Any) -> Any:
    """Of the token that follows a text, of which no token but that is a label, and which is padded."""
    texts = torch.cat([x, y[:, None], torch.ones_like(x[:, :3])], dim=1)
    labels = torch.full_like(texts, _NONE)
    labels[:, x.shape[1]] = y
    there = torch.arange(texts.shape[1]) <= x.shape[1]
    return module(input_ids=texts, attention_mask=there.long().expand(texts.shape), labels=labels).loss


def loss_of_masked(module: Any, x: Any, y: Any) -> Any:
    labels, texts = torch.full_like(x, _NONE), x.clone()
    labels[:, 5], texts[:, 5] = y, 2
    return module(input_ids=texts, labels=labels).loss


def sends_gradient(loss: Any) -> Any:
    return lambda module, x, y: gradient(module, loss(module, x, y))


def sends_file(loss: Any) -> Any:
    """Return a client of two steps of AdamW that sends what ``save_pretrained`` would write."""

    def client(module: Any, x: Any, y: Any) -> Any:
        own = torch.optim.AdamW([part for part in module.parameters() if part.requires_grad], lr=1e-3)
        for _ in range(2):
            own.zero_grad()
            loss(module, x, y).backward()
            own.step()
        return peft.get_peft_model_state_dict(module)

    return client


def audited(make: Make, client: Any, *, batch: int = 1, samples: int = 24) -> ClientAudit:
    """Audit a client on records that have nothing to do with their labels."""
    rng = np.random.default_rng(0)
    names = tuple("012345")
    labels, features = rng.integers(_CLASSES, size=240), rng.random((240, _WIDTH))
    data = LabelSet(labels=labels, class_names=names, title="made", provenance="made", features=features)
    network = load(make, n_inputs=_WIDTH, n_classes=_CLASSES, seed=0, headless=True)
    asked = UserClient(function=client, name="mine", network=network)
    settings: dict[str, Any] = {"samples": samples, "batch": batch, "own": 120, "rng": np.random.default_rng(0)}
    return audit_client(asked, data, Builder(Host.load()), gain=0.9, **settings)  # which asks for no change


def leaks(found: ClientAudit, *, headed: bool) -> None:
    assert found.word is AuditWord.LEAKS
    assert found.headed == headed
    assert not found.failed
    assert found.scores[0].correct >= 23
    assert found.control is not None
    assert found.control.given >= 22  # by the labels themselves
    assert not found.control.by_records


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapters_give_labels_away(name: str) -> None:
    """Equations hold of a head, of an adapter of the head and of biases; of all others imitation alone reads labels."""
    found = audited(ADAPTERS[name], sends_gradient(loss_of_classes))

    leaks(found, headed="head" in name)
    exact = any(score.correct == 24 and "imitation" not in score.attack for score in found.scores)
    assert exact == ("head" in name or "BitFit" in name)


@pytest.mark.parametrize("name", ["LoRA and head, GPT-2", "LoRA, BERT", "IA3, BERT", "prompts and head, BERT"])
def test_what_peft_saves_is_read_under_the_names_of_the_module(name: str) -> None:
    """New parameters, with the adapter's name left out; of IA3 nothing came out, for none was seen to be a change."""
    found = audited(ADAPTERS[name], sends_file(loss_of_classes))

    leaks(found, headed="head" in name)
    assert found.new


@pytest.mark.parametrize("name", ["LoRA, GPT-2"])
def test_batches_give_counts_away(name: str) -> None:
    found = audited(ADAPTERS[name], sends_gradient(loss_of_classes), batch=4, samples=64)

    assert found.word is AuditWord.LEAKS
    assert found.scores[0].correct > 50 > 64 * found.baseline
    assert "of 64 label counts" in answer(found).leaks


@pytest.mark.parametrize("name", LANGUAGE)
def test_label_tokens_come_out_of_language_models(name: str) -> None:
    """Outputs are objects, one token of a padded text is a label, heads are tied or not; adapters send no head."""
    found = audited(LANGUAGE[name], sends_gradient(loss_of_masked if name == "masked" else loss_of_answers))

    leaks(found, headed=False)
    exact = name in ("tied", "untied", "masked")
    assert any(score.attack.startswith("row lengths") and score.correct == 24 for score in found.scores) == exact


@pytest.mark.parametrize("name", ["prefix", "LoRA"])
def test_saved_adapters_of_language_models_give_labels_away(name: str) -> None:
    """A prefix is saved under a name that no parameter has: what all of them have in common is no update."""
    leaks(audited(LANGUAGE[name], sends_file(loss_of_answers)), headed=False)


def test_a_client_that_takes_its_labels_from_the_texts_gives_away_no_others() -> None:
    found = audited(CAUSAL, lambda module, x, y: gradient(module, module(input_ids=x, labels=x).loss))

    assert found.word is AuditWord.UNSHOWN
    assert answer(found).leaks.startswith("NOT SUPPORTED")


LARGE: dict[str, Make] = {
    "tied": gpt2(transformers.GPT2LMHeadModel, 20, 900),
    "untied": gpt2(transformers.GPT2LMHeadModel, 20, 900, tie_word_embeddings=False),
    "masked": bert(transformers.BertForMaskedLM, 20, 900),
    "masked, untied": bert(transformers.BertForMaskedLM, 20, 900, tie_word_embeddings=False),
}


def updates_of_texts(kind: str, send: Callable[[Any], Any]) -> tuple[TorchNetwork, list[Any], Any]:
    """Return a model, updates of a text of distinct tokens and of one that repeats some, and their labels."""
    rng, updates, labels = np.random.default_rng(1), [], []
    network = load(LARGE[kind], n_inputs=20, n_classes=2, seed=0, headless=True)
    assert isinstance(network, TorchNetwork)
    for drawn in (rng.choice(np.arange(3, 900), size=20, replace=False), 3 + rng.zipf(1.5, 20) % 890):
        inputs = torch.from_numpy(drawn)[None]
        own = inputs.clone()
        own[:, 15:] = _NONE
        if "masked" in kind:
            own[:, ::2] = _NONE
            inputs = torch.where(own >= 0, 2, inputs)
        sent = send(gradient(network.module, network.module(input_ids=inputs, labels=own).loss))
        updates.append(as_update(sent, network, "mine"))
        labels.append(np.append(own if "masked" in kind else own[:, 1:], np.full(3, _NONE)))
    return network, updates, np.array(labels)


def times(factor: float) -> Callable[[Any], Any]:
    return lambda parts: {name: factor * part for name, part in parts.items()}


@pytest.mark.parametrize("factor", [1.0, -0.1, 20.0])
@pytest.mark.parametrize("kind", LARGE)
def test_saved_updates_of_language_models_tell_their_label_tokens(kind: str, factor: float) -> None:
    """Of a gradient, of a step, and of a sum over places, of which the set alone is told."""
    network, updates, labels = updates_of_texts(kind, times(factor))
    sets = [np.unique(row[row >= 0]) for row in labels]

    for truth in (labels, None):
        found = audit_saved(updates, truth, network, FORMATS["float32"])

        assert found.leaks
        assert found.certain == found.n_updates == 2
        if kind == "tied":  # the first token of either is no label, and may be told with them
            assert 0 <= found.tokens - sum(map(len, sets)) <= 2
            assert found.counts == 0
        else:
            assert found.tokens == sum(map(len, sets))
        assert found.correct == (-1 if truth is None else 2)
        if "masked" in kind and truth is not None:
            assert found.counts == (found.tokens if factor == 1 else 0)
        if kind == "untied" and factor == 1:
            assert found.counts >= len(sets[0])  # a place each, and the states explain all of the gradient
    assert f"{found.tokens} tokens are labels, in 2 of 2 updates" in answer(found).leaks
    assert "language model" in lines(found)[0]


def test_noise_in_the_place_of_a_language_models_update_tells_nothing() -> None:
    drawn = torch.Generator().manual_seed(0)
    network, updates, labels = updates_of_texts(
        "untied", lambda parts: {k: torch.randn(v.shape, generator=drawn) for k, v in parts.items()}
    )

    found = audit_saved(updates, labels, network, FORMATS["float32"])

    assert found.word is AuditWord.UNSHOWN
    assert answer(found).leaks.startswith("INCONCLUSIVE")


@pytest.mark.parametrize("name", ["LoRA of the head, BERT", "BitFit, BERT", "LoRA and head, BERT", "LoRA, BERT"])
def test_saved_adapters_tell_single_records_labels(name: str) -> None:
    """The row of a head's adapter, or of its bias, that points against all others is the label's; no other says so."""
    network = load(ADAPTERS[name], n_inputs=_WIDTH, n_classes=_CLASSES, seed=0, headless=True)
    client, rng = UserClient(function=sends_gradient(loss_of_classes), name="mine", network=network), np.random
    labels, x = rng.default_rng(0).integers(_CLASSES, size=20), rng.default_rng(1).random((20, _WIDTH))
    alone = [client(x[[row]], labels[[row]]) for row in range(20)]
    batches = [client(x[[row, row - 1]], labels[[row, row - 1]]) for row in range(20) if labels[row] != labels[row - 1]]

    found, mixed = (audit_saved(sent, None, network, FORMATS["float32"]) for sent in (alone, batches))
    said = audit_saved(alone, labels, network, FORMATS["float32"])

    assert mixed.certain == 0
    if name == "LoRA, BERT":
        assert found.word is AuditWord.UNSHOWN
        assert answer(found).leaks.startswith("NOT SUPPORTED")
        return
    assert found.leaks
    assert found.certain + found.listed == said.correct == 20
    assert said.agree == said.certain == found.certain >= 15


def test_an_adapters_file_is_read_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``save_pretrained`` wrote of one local step about one record: its label, or what would be needed for it."""
    from safetensors.torch import save_file

    (tmp_path / "adapters_of_mine.py").write_text(SAVED)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, status, words in (("whole", 1, "1 of 1 labels are determined"), ("body", 3, "NOT SUPPORTED")):
        torch.manual_seed(0)
        module = __import__("adapters_of_mine").__dict__[name](_WIDTH, _CLASSES)
        own = torch.optim.SGD([part for part in module.parameters() if part.requires_grad], lr=0.5)
        module(input_ids=torch.arange(3, 3 + _WIDTH)[None], labels=torch.tensor([4])).loss.backward()
        own.step()
        path = tmp_path / f"{name}.safetensors"
        save_file({k: v.detach().contiguous() for k, v in peft.get_peft_model_state_dict(module).items()}, path)

        done = CliRunner().invoke(main, ["audit", "client", str(path), "--model", f"adapters_of_mine:{name}"])

        assert done.exit_code == status, done.output
        assert words in done.output


SAVED = """
import peft, transformers

def base(n, c):
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, num_labels=6,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0))

def whole(n, c):
    return peft.get_peft_model(base(n, c), peft.LoraConfig(task_type="SEQ_CLS", r=4))

def body(n, c):
    return peft.get_peft_model(base(n, c), peft.LoraConfig(r=4))
"""
