"""How well inputs come out once labels are known: in closed form, under noise, and by gradient matching.

Usage::

    python benchmarks/reconstruction.py              # ten seconds; with PyTorch two minutes more
    python benchmarks/reconstruction.py --quick      # fewer samples
    python benchmarks/reconstruction.py --picture docs/reconstruction.svg
    python benchmarks/reconstruction.py --colours docs/colours.svg       # needs Pillow

Peak signal-to-noise ratios are of floats. Each table has its own peer: the paper's equations as printed, the recursion
that is given the true label, matching that is given the true label. The tables are those of ``labelinf reproduce
iclr-reconstruction`` with more samples.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from labelinf_core.plugin.reproductions import Table
from labelinf_papers.published.iclr_grids import colour_grid, grid
from labelinf_papers.published.iclr_reconstruction import clean_table, noise_table


def show(table: Table) -> None:
    """Print a table."""
    print(f"\n{table.title}")
    cells = [table.columns, *(tuple(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row) for row in table.rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(table.columns))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="How well inputs come out once labels are known.")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--picture", metavar="FILE.svg", help="draw true and reconstructed digits, and nothing else")
    parser.add_argument("--colours", metavar="FILE.svg", help="the same of 32 x 32 colour images")
    options = parser.parse_args()
    if options.colours:
        Path(options.colours).write_text(colour_grid(), encoding="utf-8")
        return
    if options.picture:
        Path(options.picture).write_text(grid(), encoding="utf-8")
        return
    quick = options.quick
    show(clean_table(100 if quick else 800, (0, 3) if quick else (0, 3, 20, 100)))
    show(noise_table(20 if quick else 100, (0, 3) if quick else (0, 3, 20)))
    if importlib.util.find_spec("torch") is None:
        print("\ngradient matching needs PyTorch: pip install 'labelinf[torch]'.")
        return
    from labelinf_papers.published.iclr_matching import matching_table

    show(matching_table(images=1, iterations=300) if quick else matching_table(images=6, iterations=1200))


if __name__ == "__main__":
    main()
