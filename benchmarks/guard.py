"""What a guarded board proves and costs: the marks of its certificate, honest teams on real boards, and fifty clients.

Usage::

    python benchmarks/guard.py marks                  # what the certificate says of 25 000 labels
    python benchmarks/guard.py study                  # 40 honest teams on boards that are really played
    python benchmarks/guard.py prices                 # what scores of 70 real models cost in a surprise ledger
    python benchmarks/guard.py clients --seconds 600  # 50 clients of a served board: how long an answer takes

**Honest teams.** 40 teams of skill .86 +- .017; a team is right on a record when ``sqrt(rho) z_i + sqrt(1 - rho)
e_ij`` is below its threshold, with ``rho`` such that two teams of mean skill disagree on the correctness of 14.1 % of
the records. What a board tells of their submissions is ranked beside their scores on all records.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import kendalltau, multivariate_normal, norm

from labelinf_guard.board import Board, TeamAnswer
from labelinf_guard.certificate.gain import bits_of_gain, counts_bits
from labelinf_guard.certificate.noise import StepNoise
from labelinf_guard.certificate.statement import Part, Terms, certify, points
from labelinf_guard.clock import StepClock
from labelinf_guard.ledger.charge import Near, PublicRecord, charge_of
from labelinf_guard.recommendation import honest
from labelinf_guard.release import FINE
from labelinf_scores.bounds.rate_distortion import rate_distortion_accuracy

N = 25_000
TEAMS, SKILL, SPREAD, DISAGREE = 40, 0.86, 0.017, 0.141
BOARD = (
    '[board]\nlabels = "labels.csv"\nid = "id"\nlabel = "label"\nclasses = ["0", "1"]\nmetric = "accuracy"\n{policy}'
    "[budget]\nper_board = {answers}\n[target]\ngain = 0.5\naccept_void = true\n"
)


def noise_of(scale, answers, n=N):
    """Discrete Gaussian noise of so many accuracies."""
    return StepNoise(moved=FINE, answers=answers, variance=Fraction(scale * n * FINE) ** 2)


def deviation(gain, perfect, answers, n=N):
    """The noise behind which so many accuracies gain so much at most, class counts unknown."""
    least = np.sqrt(answers) / n
    return brentq(
        lambda s: (1 - perfect) * noise_of(s, answers, n).distance() - gain, least / 30, least * 30, rtol=1e-6
    )


def marks():
    fifth, rest = Part(labels=N // 5), Part(labels=N - N // 5)
    coins = certify(Terms(classes=2, public=fifth, sealed=rest, counts_known=False)).now
    known = certify(Terms(classes=2, public=fifth, sealed=rest)).now
    final = bits_of_gain(0.1, rest.labels)
    after = certify(Terms(classes=2, public=fifth, sealed=rest, counts_known=False, final=final)).after
    print(f"{N} labels, a fifth public, any number of exact answers: {100 * coins:.1f} points over a perfect model")
    print(f"  class counts known: {points(known)} (over one that knows them)")
    print(f"  after a final release worth 10 points of the rest: {100 * after:.1f}")
    for perfect in (0.5, 0.86, 0.93):
        bits = bits_of_gain(0.05, N, perfect=perfect)
        answers = f"{round(bits / 7)} ({round((bits - counts_bits(N)) / 7)} with counts known)"
        noise = deviation(0.05, perfect, 10_000)
        print(f"+5 points at p* = {perfect}: {answers} answers of 7 bits, or 10 000 behind noise s = {noise:.4f}")
    pair = 0.5 + noise_of(1, 1, 2).distance() / 2
    exchanged = 0.5 + noise_of(1, 4, 2).distance() / 2  # mu = 1: the score moves by 1, not by 1/2
    print(f"2 labels, one of each class, s = 1: an exchange tells {exchanged:.3f}, one label's move {pair:.3f}")
    seven, bits = (0.49, 0.365, 0.06, 0.035, 0.03, 0.01, 0.01), 20 * np.log2(1001) + counts_bits(10_000, 7)
    print(f"seven unequal classes, 20 answers: {100 * rate_distortion_accuracy(seven, bits / 10_000):.1f} %")
    for n, share, noise in ((25_000, 0.2, 0.0), (100_000, 1.0, deviation(0.1, 0.5, 1000, 100_000))):
        tau, displaced = honest(n, share, noise, 6 if noise else 4)
        what = f"{n} labels, {share:.0%} public, noise {noise:.4f}"
        print(f"honest teams, {what}: tau {tau.mean:.2f}, top three out {displaced.mean:.1f}")


def contest(n, rng):
    """Labels, and the predictions of 40 honest teams."""
    p = SKILL

    def disagree(rho):
        return 2 * (p - multivariate_normal.cdf([norm.ppf(p)] * 2, cov=[[1, rho], [rho, 1]])) - DISAGREE

    rho = brentq(disagree, 0.01, 0.99)
    labels = rng.integers(0, 2, n)
    shared, own = rng.standard_normal(n), rng.standard_normal((TEAMS, n))
    skill = np.clip(rng.normal(SKILL, SPREAD, TEAMS), 0.6, 0.99)
    right = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own < norm.ppf(skill)[:, None]
    return labels, np.where(right, labels, 1 - labels)


def played(n, policy, rng, folder):
    """Kendall's tau, and how many of the first three are displaced, of one contest on a real board."""
    labels, rows = contest(n, rng)
    folder.mkdir()
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at:06d},{y}\n" for at, y in enumerate(labels)))
    (folder / "board.toml").write_text(BOARD.format(policy=policy, answers=100_000))
    told = []
    with contextlib.closing(Board.init(folder / "board.toml", clock=StepClock())) as board:
        for at, row in enumerate(rows):
            text = "id,prediction\n" + "".join(f"r{i:06d},{y}\n" for i, y in enumerate(row))
            answer = board.submit(f"t{at}", text.encode())
            assert isinstance(answer, TeamAnswer)
            told.append(float(answer.score))
    exact, told = (rows == labels).mean(axis=1), np.array(told)
    first = [set(np.argsort(-scores, kind="stable")[:3].tolist()) for scores in (exact, told)]
    return kendalltau(exact, told).statistic, 3 - len(first[0] & first[1])


STUDIES = (
    ("a fifth public, 4 decimals", 0.2, 0.0, 4, "[public]\nshare = 0.2\n[release]\ndecimals = 4\n"),
    ("all public, noise .01", 1.0, 0.01, 4, "[public]\nshare = 1.0\n[release]\ndecimals = 4\nnoise = 0.01\n"),
)


def study(n=3000, contests=10):
    rng = np.random.default_rng(0)
    print(f"{n} labels, {contests} contests of {TEAMS} teams: played on real boards, beside what plan says")
    for title, share, noise, decimals, policy in STUDIES:
        with tempfile.TemporaryDirectory() as folder:
            found = np.array([played(n, policy, rng, Path(folder) / str(at)) for at in range(contests)])
        said = honest(n, share, noise, decimals)
        error = found.std(axis=0, ddof=1) / np.sqrt(contests)
        print(
            f"  {title}: tau {found[:, 0].mean():.3f} +- {error[0]:.3f} (plan {said[0].mean:.3f}), "
            f"top three out {found[:, 1].mean():.2f} +- {error[1]:.2f} (plan {said[1].mean:.2f})"
        )


def models():
    """Seven families, each a team, with ten hyper-parameters each, in the order in which they are sent."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    scale = np.logspace(-3, 2, 10)
    for at in range(10):
        yield "logistic", LogisticRegression(C=scale[at], max_iter=300)
        yield "neighbours", KNeighborsClassifier(1 + 3 * at)
        yield "tree", DecisionTreeClassifier(max_depth=2 + at, random_state=0)
        yield "forest", RandomForestClassifier(5 + 5 * at, random_state=0)
        yield "bayes", GaussianNB(var_smoothing=scale[at] / 100)
        yield "kernel", SVC(C=scale[at])
        yield "ridge", RidgeClassifier(alpha=scale[at])


def prices():
    """Accuracy of three decimals, of the digits below five and the others, and of the cancer data."""
    from sklearn.datasets import load_breast_cancer, load_digits

    digits, cancer = load_digits(return_X_y=True), load_breast_cancer(return_X_y=True)
    for title, features, labels in (("digits", digits[0], digits[1] > 4), ("cancer", *cancer)):
        order = np.random.default_rng(0).permutation(len(labels))
        train, test = order[: len(order) // 2], order[len(order) // 2 :]
        rule, told, last, paid = Near(answers=1001), [], {}, []
        for family, model in models():
            guessed = model.fit(features[train], labels[train]).predict(features[test])
            score = round(1000 * float(np.mean(guessed == labels[test])))
            weights = rule.weights(PublicRecord(own=last.get(family), board=tuple(told[:-21:-1])))
            paid.append(charge_of(weights[score]) / 1024)
            last[family] = score
            told.append(score)
        first, later = np.mean(paid[:7]), np.mean(paid[7:])
        print(f"{title}, {test.size} labels, 70 real models: {first:.1f} bits the first of a family, {later:.1f} later")


def clients(seconds, count=50, beat=10.0, n=2000):
    """Every client sends a new file as soon as it has its answer; a failed or refused request is counted apart."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        labels = rng.integers(0, 2, n)
        (folder / "labels.csv").write_text("id,label\n" + "".join(f"r{at:06d},{y}\n" for at, y in enumerate(labels)))
        more = f"[release]\nbeat = {beat}\n[public]\nshare = 0.2\n"
        text = BOARD.format(policy=more, answers=10**6)
        quotas = "per_team = 100000\nper_team_day = 100000\nper_day = 1000000\n"
        (folder / "board.toml").write_text(text.replace("[target]", f"{quotas}[target]"))
        board = Board.init(folder / "board.toml")
        tokens = [board.token(f"t{at}") for at in range(count)]
        board.close()
        port, private = _free(), _free()
        command = [sys.executable, "-m", "labelinf_core", "guard", "serve", str(folder / "board.toml")]
        server = subprocess.Popen(
            [*command, "--port", str(port), "--host-port", str(private)], stdout=subprocess.DEVNULL
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        _await(port)
        came, failed, end = {at: [] for at in range(count)}, [], time.time() + seconds

        def client(at):
            own = np.random.default_rng(at + 1)
            packed = base64.b64encode(f"t{at}:{tokens[at]}".encode()).decode()
            while time.time() < end:
                rows = own.integers(0, 2, n)
                data = ("id,prediction\n" + "".join(f"r{i:06d},{y}\n" for i, y in enumerate(rows))).encode()
                asked = urllib.request.Request(f"http://127.0.0.1:{port}/submissions", data=data)
                asked.add_header("Authorization", f"Basic {packed}")
                try:
                    with urllib.request.urlopen(asked, timeout=120) as answer:
                        answer.read()
                    came[at].append(time.time())
                except (OSError, urllib.error.HTTPError) as error:
                    failed.append(str(error))

        threads = [threading.Thread(target=client, args=(at,)) for at in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        board = Board.open(folder / "board.toml")
        entries = board.ledger.book.entries
        board.close()
    due = {at: [entry.due / 1000 for entry in entries if entry.team == f"t{at}"] for at in range(count)}
    late = [there - then for at in range(count) for there, then in zip(came[at], due[at], strict=False)]
    p50, p99 = (float(np.quantile(late, q)) for q in (0.5, 0.99))
    unscored = sum(entry.symbol == 1001 for entry in entries)
    print(f"{count} clients for {seconds:g} s, beat {beat:g} s: {len(late)} answers, {len(failed)} failed")
    for error, times in Counter(failed).items():
        print(f"  failed {times} times: {error}")
    print(f"  {len(entries)} entries of the ledger, {unscored} of them without a score")
    print(f"  answers came {p50:.2f} s (median) and {p99:.2f} s (99th percentile) after the beat that was theirs")


def _free():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _await(port):
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise SystemExit("the board is not served")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["marks", "study", "prices", "clients"], default="marks")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--beat", type=float, default=10.0)
    asked = parser.parse_args()
    served = {"clients": lambda: clients(asked.seconds, beat=asked.beat)}
    {"marks": marks, "study": study, "prices": prices, **served}[asked.what]()
