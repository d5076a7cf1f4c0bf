"""A PyTorch loop on planted labels: what ``labelinf plant`` wrote in, logits with record ids out.

python audit_torch.py plan outcome logits.npz
"""

import csv
import sys
from pathlib import Path

import numpy as np
import torch

folder, column, target = sys.argv[1:]
files = (Path(folder, f"{name}.csv").read_text().splitlines() for name in ("training", "query"))
training, query = (list(csv.DictReader(lines)) for lines in files)
given = [name for name in query[0] if name != "record"]
x, asked = (torch.tensor([[float(row[name]) for name in given] for row in rows]) for rows in (training, query))
classes, y = np.unique([row[column] for row in training], return_inverse=True)
net = torch.nn.Sequential(torch.nn.Linear(len(given), 256), torch.nn.ReLU(), torch.nn.Linear(256, len(classes)))
optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(300):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(net(x), torch.tensor(y)).backward()
    optimiser.step()
np.savez(target, logits=net(asked).detach(), record=[row["record"] for row in query], classes=classes)
