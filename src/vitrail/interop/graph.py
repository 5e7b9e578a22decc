"""An ONNX graph that is written down step by step: every operation returns the name of its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 17  # the first with LayerNormalization
_IR = 8  # the version of the file format that belongs to it

Shape = tuple[str | int, ...]  # an axis has a name if its size is not fixed


class Graph:
    """The operations and constants so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[Any] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._inputs: list[tuple[str, type, Shape]] = []
        self._outputs: list[tuple[str, str, Shape]] = []

    def input(self, name: str, kind: type, shape: Shape) -> str:
        """Something that the caller passes in."""
        self._inputs.append((name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape) -> None:
        """Return a value to the caller, under this name."""
        self._outputs.append((name, value, shape))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """A weight, or another value that is part of the model; a name always means the same one."""
        self._constants.setdefault(name, np.ascontiguousarray(value))
        return name

    def numbers(self, *values: int) -> str:
        """A list of whole numbers, as shapes and axes are."""
        return self.constant(f"numbers {values}", np.array(values, dtype=np.int64))

    def number(self, value: int) -> str:
        """A single whole number."""
        return self.constant(f"number {value}", np.array(value, dtype=np.int64))

    def scalar(self, value: float) -> str:
        """A single number."""
        return self.constant(f"scalar {value}", np.array(value, dtype=np.float32))

    def apply(self, operation: str, *inputs: str, attributes: Mapping[str, Any] | None = None) -> str:
        """The result of one of ONNX's operations."""
        from onnx import helper

        result = f"{operation} {len(self._nodes)}"
        self._nodes.append(helper.make_node(operation, list(inputs), [result], **(attributes or {})))
        return result

    def model(self) -> Any:
        """The finished graph, checked."""
        from onnx import TensorProto, checker, helper, numpy_helper

        kinds = {float: TensorProto.FLOAT, int: TensorProto.INT64}
        ends = [helper.make_node("Identity", [value], [name]) for name, value, _ in self._outputs]
        graph = helper.make_graph(
            [*self._nodes, *ends],
            self.name,
            [helper.make_tensor_value_info(name, kinds[kind], shape) for name, kind, shape in self._inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, _, shape in self._outputs],
            [numpy_helper.from_array(value, name) for name, value in self._constants.items()],
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="vitrail", ir_version=_IR)
        checker.check_model(model)
        return model
