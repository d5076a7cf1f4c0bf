"""A finished model with nothing planted: what it says of records it was trained on and of others; and a reference.

python observe_sklearn.py training.csv outcome
"""

import csv
import sys
from pathlib import Path

from sklearn.ensemble import RandomForestClassifier

table, column = sys.argv[1:]
rows = list(csv.DictReader(Path(table).read_text().splitlines()))
given = [name for name in rows[0] if name not in ("record", column)]
x, labels = [[float(row[name]) for name in given] for row in rows], [row[column] for row in rows]
third = len(rows) // 3  # trained on, not trained on, and the records of the reference
for name, some in (("said", range(third)), ("reference", range(2 * third, len(rows)))):
    model = RandomForestClassifier(random_state=0).fit([x[row] for row in some], [labels[row] for row in some])
    with Path(f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerow(["record", *model.classes_])
        csv.writer(file).writerows([row, *p] for row, p in enumerate(model.predict_proba(x[: 2 * third])))
with Path("records.csv").open("w", newline="") as file:
    csv.writer(file).writerow(["record", "label", "seen"])
    csv.writer(file).writerows([row, labels[row], int(row < third)] for row in range(2 * third))
