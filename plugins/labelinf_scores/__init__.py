"""The score channel: losses, constructions, decoders, attacks, defences and bounds."""
