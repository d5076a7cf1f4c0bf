"""How attacks lay out their blocks, batches and designs."""
