"""``python -m labelinf_core`` is the ``labelinf`` command."""

from labelinf_core.cli import main

if __name__ == "__main__":
    main(prog_name="labelinf")
