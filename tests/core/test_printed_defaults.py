"""What ``plugins show`` prints as a default can be typed in as it stands, for every component there is."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from labelinf_core.plugin.descriptors import Kind
from labelinf_core.plugin.host import Host
from labelinf_core.specs import Builder, Spec

HOST = Host.load()


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_every_printed_default_reads_back_as_the_default(kind: Kind) -> None:
    builder, tried = Builder(HOST), 0
    for item in HOST.catalogue(kind):
        cls: Any = item.load()
        needed = {field.name for field in attrs.fields(cls) if field.init and field.default is attrs.NOTHING}
        given = {name: value for name, value in getattr(cls, "example_parameters", {}).items() if name in needed}
        if needed - given.keys():
            continue
        plain = builder.build(kind, Spec(item.descriptor.name, given), "test")
        for parameter in builder.parameters(cls):
            if parameter.default is None:
                continue
            tried += 1
            typed = [f"{parameter.name}={parameter.default}", *(f"{name}={value!r}" for name, value in given.items())]
            assert builder.build(kind, f"{item.descriptor.name}({', '.join(typed)})", "test") == plain
    assert tried or kind in (Kind.LOSS, Kind.BOUND)
