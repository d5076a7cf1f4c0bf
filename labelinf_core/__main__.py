"""The ``labelinf`` command, also as ``python -m labelinf_core``: nothing is imported before somebody may stop it."""

import _signal as signal  # type: ignore[import-not-found]  # the words of signal take longer than all the rest
import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; stopped while it is still being imported, it says so as it does later."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # as a shell has it for what runs in the background
            signal.signal(number, _stopped)
    from labelinf_core.cli import main as command

    sys.exit(command(prog_name="labelinf"))


def _stopped(number: int, frame: object) -> None:
    os.write(2, b"labelinf: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
