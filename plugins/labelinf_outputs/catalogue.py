"""Descriptors of the attacks and defences of the model-output channel."""

from __future__ import annotations

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["ATTACKS", "DEFENCES"]

_BLIA = "Khan et al., BLIA, 2025"
_GHAZI = "Ghazi et al., NeurIPS 2021"
_MALEK = "Malek et al., NeurIPS 2021"


def _attack(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.ATTACK,
        name=name,
        channel="output",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_outputs.attacks.{target}",
    )


def _defence(name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=Kind.DEFENCE,
        name=name,
        channel="output",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_outputs.defences.{target}",
    )


ATTACKS: tuple[Descriptor, ...] = (
    _attack("blind-guess", "guesses without looking", "folklore", "baseline", "blind:BlindGuess"),
    _attack(
        "lia-threshold", "guesses the model's own prediction", _BLIA, "Algorithm 5.1, K-ary", "threshold:Threshold"
    ),
    _attack(
        "lia-delta-margin",
        "guesses from margin and loss; reads the label from its loss",
        _BLIA,
        "Algorithm 5.2",
        "delta_margin:DeltaMargin",
    ),
    _attack(
        "loss-inversion",
        "reads the label from its loss exactly",
        "Aggarwal et al., ICML 2021",
        "Section 3, one record",
        "loss_inversion:LossInversion",
    ),
    _attack(
        "calibrated",
        "guesses what the model favours more than reference models do",
        "labelinf theory",
        "reference-calibrated label inference",
        "calibrated:Calibrated",
    ),
    _attack(
        "lira",
        "likelihood ratios from reference models",
        "Carlini et al., IEEE S&P 2022",
        "Algorithm 1, for labels",
        "lira:Lira",
    ),
)

DEFENCES: tuple[Descriptor, ...] = (
    _defence(
        "label-rr",
        "randomised response on every training label",
        "Warner, JASA 1965",
        "Section 1",
        "label_rr:LabelRr",
    ),
    _defence(
        "resampling-rr",
        "the common mistake: resamples labels instead of replacing them",
        _BLIA,
        "Tables 3 to 8, as the figures suggest",
        "resampling_rr:ResamplingRr",
    ),
    _defence(
        "rr-with-prior",
        "randomised response among the most frequent classes",
        _GHAZI,
        "Algorithms 2 and 3",
        "rr_with_prior:RrWithPrior",
    ),
    _defence("lp-2st", "label privacy in two stages", _GHAZI, "Algorithm 4, two stages", "lp_2st:Lp2st"),
    _defence("alibi", "trains on posteriors of noisy one-hot labels", _MALEK, "Section 4", "alibi:Alibi"),
    _defence(
        "pate",
        "a student learns from the noisy votes of teachers",
        f"Papernot et al., ICLR 2018; {_MALEK}",
        "GNMax; Section 3",
        "pate:Pate",
    ),
    _defence(
        "soft-labels",
        "trains on predictions of models that never saw the record",
        "Tang et al., USENIX Security 2022",
        "self-distillation, out of fold",
        "soft_labels:SoftLabels",
    ),
    _defence("early-stopping", "trains for fewer epochs", "folklore", "regularisation", "recipes:EarlyStopping"),
    _defence("weight-decay", "penalises large weights", "folklore", "regularisation", "recipes:WeightDecay"),
    _defence(
        "target-smoothing",
        "trains on smoothed labels",
        "Szegedy et al., CVPR 2016",
        "Section 7",
        "recipes:TargetSmoothing",
    ),
    _defence(
        "rounded-outputs", "rounds released probabilities", "folklore", "baseline", "rounded_outputs:RoundedOutputs"
    ),
    _defence("top-1-only", "shows the predicted class only", "folklore", "baseline", "top_one_only:TopOneOnly"),
    _defence(
        "temperature",
        "flattens released probabilities",
        "Guo et al., ICML 2017",
        "Section 4",
        "temperature:Temperature",
    ),
    _defence(
        "output-noise", "adds noise to released probabilities", "folklore", "baseline", "output_noise:OutputNoise"
    ),
)
