"""A model of scikit-learn's on planted labels: what ``labelinf plant`` wrote in, predictions with record ids out.

python audit_sklearn.py plan outcome > predictions.csv
"""

import csv
import sys
from pathlib import Path

from sklearn.ensemble import RandomForestClassifier

folder, column = sys.argv[1:]
names = ("training", "query")
training, query = (list(csv.DictReader(Path(folder, f"{name}.csv").read_text().splitlines())) for name in names)
given = [name for name in query[0] if name != "record"]
x, asked = ([[float(row[name]) for name in given] for row in rows] for rows in (training, query))
model = RandomForestClassifier(random_state=0).fit(x, [row[column] for row in training])
out = csv.writer(sys.stdout)
out.writerow(["record", *model.classes_])
out.writerows([row["record"], *p] for row, p in zip(query, model.predict_proba(asked), strict=True))
