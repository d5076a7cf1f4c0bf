"""Descriptors of everything this plugin provides."""

from __future__ import annotations

import functools

from labelinf_core import Descriptor, Kind, Reference

__all__ = ["DESCRIPTORS"]

_WANG = "Wang et al., ICLR 2024"
_OURS = "labelinf theory"


def _make(kind: Kind, name: str, summary: str, work: str, statement: str, target: str) -> Descriptor:
    return Descriptor(
        kind=kind,
        name=name,
        channel="gradient",
        summary=summary,
        reference=Reference(work=work, statement=statement),
        target=f"labelinf_gradients.{target}" if kind is not Kind.CHANNEL else target,
    )


_attack = functools.partial(_make, Kind.ATTACK)
_defence = functools.partial(_make, Kind.DEFENCE)
_bound = functools.partial(_make, Kind.BOUND)

_GUESSES = (
    _attack(
        "uniform-counts", "guesses all classes equally often", "folklore", "baseline", "attacks.guesses:UniformGuess"
    ),
    _attack(
        "prior-counts",
        "guesses the label counts that overlap most with a batch on average",
        _OURS,
        "best guess without a gradient",
        "attacks.guesses:PriorGuess",
    ),
    _attack(
        "model-prediction",
        "guesses what the network predicts, where inputs are public",
        "folklore",
        "baseline",
        "attacks.guesses:ModelPrediction",
    ),
)

_SINGLE = (
    _attack(
        "exact-solver",
        "enumerates every label that explains a sample's gradient: hard, smoothed or mixed",
        _OURS,
        "the exact solver; after Wang et al., ICLR 2024, equation 4",
        "attacks.exact:ExactSolver",
    ),
    _attack(
        "variance-search",
        "the paper's search of one scalar: L-BFGS, then particle swarms",
        _WANG,
        "Algorithms 1 and 2, Appendices C and E",
        "attacks.variance_search:VarianceSearch",
    ),
    _attack(
        "idlg",
        "the row of the gradient whose sign differs: one-hot labels",
        "Zhao et al., iDLG, 2020",
        "Section 3",
        "attacks.idlg:Idlg",
    ),
    _attack(
        "last-bias",
        "any label in closed form from the gradient of the last bias",
        "Aono et al., IEEE TIFS 2018",
        "Section 3, with the label read off",
        "attacks.bias:LastBias",
    ),
    _attack(
        "hidden-bias",
        "any label in closed form from the gradient of the last hidden bias",
        _OURS,
        "closed forms",
        "attacks.bias:HiddenBias",
    ),
)

_NOISY = (
    _attack(
        "matched-filter",
        "the row that points most clearly away from a direction: hard labels under noise",
        _OURS,
        "noise, matched filters",
        "attacks.noisy:MatchedFilter",
    ),
    _attack(
        "rank-one-likelihood",
        "fits scale and label to the leading singular pair by least squares",
        _OURS,
        "noise, maximum likelihood",
        "attacks.noisy:Likelihood",
    ),
    _attack(
        "known-features",
        "the Bayes rule where inputs are public",
        _OURS,
        "noise, exact Bayes",
        "attacks.bayes:KnownFeatures",
    ),
    _attack(
        "own-samples",
        "the Bayes rule with the adversary's own samples for the unknown one",
        _OURS,
        "noise, mixtures of own samples",
        "attacks.bayes:OwnSamples",
    ),
    _attack(
        "defence-aware",
        "plays the attack that theory calls strongest against the defences at hand",
        _OURS,
        "Kerckhoffs' principle",
        "attacks.adaptive:DefenceAware",
    ),
)

_BATCHES = (
    _attack(
        "sample-by-sample",
        "every sample of a batch exactly, where the softmax meets the gradient's column space",
        _OURS,
        "batches, sample by sample",
        "attacks.instances:SampleBySample",
    ),
    _attack(
        "joint-recovery",
        "all samples of a batch at once, up to two less than the number of classes",
        _OURS,
        "batches, joint recovery",
        "attacks.instances:JointRecovery",
    ),
    _attack(
        "row-minima",
        "label counts from the least row minima: distinct classes",
        "Yin et al., GradInversion, CVPR 2021",
        "Section 3.2",
        "attacks.counts:Yin",
    ),
    _attack(
        "llg",
        "label counts from negative row sums, greedily",
        "Wainakh et al., PETS 2022",
        "Algorithm 1, without auxiliary data",
        "attacks.counts:Llg",
    ),
    _attack(
        "ilrg",
        "label counts from each row's own quotient; needs the last bias",
        "Ma et al., iLRG, 2023",
        "Section 3",
        "attacks.counts:Ilrg",
    ),
    _attack(
        "rlg",
        "classes that are present, by linear programmes in the column space",
        "Dang et al., RLG, NeurIPS 2021",
        "Section 4",
        "attacks.counts:Rlg",
    ),
    _attack(
        "moment-counts",
        "label counts from mean probabilities of own data; needs the last bias",
        _OURS,
        "batches, moments",
        "attacks.counts:Moments",
    ),
    _attack(
        "dictionary-counts",
        "label counts from mean gradients of own data",
        _OURS,
        "batches, dictionary",
        "attacks.counts:Dictionary",
    ),
)

_DEFENCES = (
    _defence(
        "gradient-noise",
        "adds noise of any model to every entry",
        "folklore",
        "baseline",
        "defences.noise:GradientNoise",
    ),
    _defence(
        "gradient-clip",
        "scales each sample's gradient down to a norm",
        "Abadi et al., CCS 2016",
        "Algorithm 1, clipping alone",
        "defences.clipping:GradientClip",
    ),
    _defence(
        "clipped-gaussian",
        "DP-SGD: clipping and Gaussian noise, certified",
        "Abadi et al., CCS 2016",
        "Algorithm 1",
        "defences.clipping:ClippedGaussian",
    ),
    _defence(
        "clipped-laplace",
        "clipping in the 1-norm and Laplace noise, certified",
        "Dwork et al., TCC 2006",
        "Proposition 1",
        "defences.clipping:ClippedLaplace",
    ),
    _defence(
        "top-k", "releases the largest entries only", "Lin et al., ICLR 2018", "Section 3.1", "defences.sparse:TopK"
    ),
    _defence(
        "prune",
        "sets the smallest entries of every tensor to zero",
        "Zhu et al., DLG, NeurIPS 2019",
        "Section 5",
        "defences.sparse:Prune",
    ),
    _defence(
        "random-sparse", "releases a random part of the entries", "folklore", "baseline", "defences.sparse:RandomSparse"
    ),
    _defence(
        "gradient-sign", "releases signs only", "Bernstein et al., ICML 2018", "Algorithm 1", "defences.coarse:Sign"
    ),
    _defence(
        "gradient-bits",
        "rounds entries to a few bits, to the nearest level or at random",
        "Alistarh et al., QSGD, NeurIPS 2017",
        "Section 3.1",
        "defences.coarse:Quantise",
    ),
    _defence(
        "label-smoothing",
        "trains on smoothed labels with a secret factor",
        "Szegedy et al., CVPR 2016",
        "Section 7",
        "defences.conduct:LabelSmoothing",
    ),
    _defence(
        "mixup",
        "trains on mixtures of two samples with a secret weight",
        "Zhang et al., ICLR 2018",
        "Section 2",
        "defences.conduct:Mixup",
    ),
    _defence("drop-bias", "keeps gradients of biases at home", _WANG, "Section 4.2", "defences.conduct:DropBias"),
    _defence(
        "aggregate", "releases the mean gradient of a batch", "folklore", "baseline", "defences.conduct:Aggregate"
    ),
    _defence(
        "federated-averaging",
        "releases the mean gradient of several local steps",
        "McMahan et al., AISTATS 2017",
        "Algorithm 1",
        "defences.conduct:FederatedAveraging",
    ),
)

_BOUNDS = (
    _bound(
        "gradient-certificate",
        "what noise on clipped gradients denies to every attack, or that nothing is certified",
        _OURS,
        "certificates",
        "bounds.certificates:GradientCertificate",
    ),
    _bound(
        "known-feature-bayes",
        "the best accuracy against Gaussian noise when features are public",
        _OURS,
        "certificates, exact Bayes",
        "bounds.certificates:KnownFeatureBayes",
    ),
    _bound(
        "identifiability",
        "which labels a gradient determines, whatever the attack",
        _OURS,
        "identifiability",
        "bounds.identifiability:Identifiability",
    ),
)

_CHANNELS = (
    _make(
        Kind.CHANNEL,
        "gradient",
        "clients release gradients of samples whose labels are private",
        _WANG,
        "Section 3, threat model",
        "labelinf_gradients.game.channel:GradientChannel",
    ),
)

DESCRIPTORS: tuple[Descriptor, ...] = (*_GUESSES, *_SINGLE, *_NOISY, *_BATCHES, *_DEFENCES, *_BOUNDS, *_CHANNELS)
