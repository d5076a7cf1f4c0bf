"""Log-probabilities of label tokens, as a fine-tuned language model would say them; here they are made.

python audit_label_tokens.py plan outcome said.npz

There is no language model behind this: its log-probabilities over a vocabulary are drawn at random, and lean towards
the token of the label that a record was fine-tuned on, as those of a model that has memorised some of it do.
"""

import csv
import sys
from pathlib import Path

import numpy as np

folder, column, target = sys.argv[1:]
files = (Path(folder, f"{name}.csv").read_text().splitlines() for name in ("training", "query"))
training, query = (list(csv.DictReader(lines)) for lines in files)
trained = {row["record"]: row[column] for row in training}
classes = sorted({*trained.values()})
tokens = 7 * np.arange(1, len(classes) + 1)  # yours: tokenizer.convert_tokens_to_ids(classes)
logits = np.random.default_rng(0).gumbel(size=(len(query), 1000))  # yours: model(prompts).logits[:, -1]
logits[np.arange(len(query)), tokens[[classes.index(trained[row["record"]]) for row in query]]] += 4
said = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
np.savez(target, logits=said[:, tokens], record=[row["record"] for row in query], classes=classes)
