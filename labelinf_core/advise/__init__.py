"""The smallest defence that reaches a target: by certificate, and against the attacks that are known."""
