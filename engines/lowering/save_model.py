"""Writing a lowered model: its constants go one by one into one file that a session maps into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from redraft.export.graph_spec import DATA_FILE, GRAPH_FILE

if TYPE_CHECKING:
    import onnx_ir as ir

_ALIGNMENT = 4096
_MIN_EXTERNAL = 1024
_CHUNK = 1 << 24


def save_model(model: ir.Model, folder: Path) -> None:
    """Write `model.onnx` and `model.onnx.data` into `folder`.

    Constants from _MIN_EXTERNAL bytes are external, at offsets that are multiples of a page. Each is read
    or computed when it is written, so that one is in memory at a time; two that are the same bytes of the
    same file are written once.
    """
    import onnx_ir as ir

    written: dict[tuple[str, int, int], tuple[int, int]] = {}
    with (folder / DATA_FILE).open("wb") as file:
        for value in _all_initializers(model):
            tensor = value.const_value
            if tensor is None:
                continue
            if tensor.nbytes < _MIN_EXTERNAL:
                value.const_value = _inside(tensor)
                continue
            source = _source(tensor)
            place = written.get(source) if source is not None else None
            if place is None:
                place = _append(file, tensor)
                if source is not None:
                    written[source] = place
            value.const_value = ir.ExternalTensor(
                location=DATA_FILE,
                offset=place[0],
                length=place[1],
                dtype=tensor.dtype,
                shape=ir.Shape(tensor.shape.numpy()),
                name=value.name or "",
                base_dir=folder,
            )
    ir.save(model, folder / GRAPH_FILE)


def _all_initializers(model: ir.Model) -> Iterator[ir.Value]:
    for graph in model.graphs():
        yield from graph.initializers.values()


def _inside(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
    """A small constant, free of the file that it came from."""
    import onnx_ir as ir

    if not isinstance(tensor, ir.ExternalTensor):
        return tensor
    return ir.Tensor(
        tensor.numpy().copy(), tensor.dtype, shape=ir.Shape(tensor.shape.numpy()), name=tensor.name
    )


def _source(tensor: ir.TensorProtocol) -> tuple[str, int, int] | None:
    import onnx_ir as ir

    if not isinstance(tensor, ir.ExternalTensor) or tensor.length is None:
        return None
    return str(tensor.path), tensor.offset or 0, tensor.length


def _append(file: BinaryIO, tensor: ir.TensorProtocol) -> tuple[int, int]:
    """Write the tensor's bytes at the next page; return offset and length."""
    start = -(-file.tell() // _ALIGNMENT) * _ALIGNMENT
    file.write(b"\0" * (start - file.tell()))
    source = _source(tensor)
    if source is None:
        file.write(tensor.tobytes())
    else:
        path, offset, length = source
        with Path(path).open("rb") as original:
            original.seek(offset)
            while length:
                chunk = original.read(min(length, _CHUNK))
                assert chunk, f"{path} is truncated"
                file.write(chunk)
                length -= len(chunk)
    return start, file.tell() - start
