"""Where a loss uses its parameters: functions of torch are watched, and the gradient of each record is found there.

Known are products with a matrix (linear layers, `x @ W` and `x @ W.T`, with or without a mask), rows that are looked up
(embeddings, `W[codes]`), and what is added or multiplied (biases, scales, and those of layer, group and root-mean-square
norms).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from syntabula.errors import ArgumentError
from syntabula.privacy.training.gradient_parts import Derivatives, Part, Products, Rows, Sums, Vectors, joined

_Found = Callable[[Tensor], Part]
"""Takes the derivatives by an output, and returns what they say of a parameter."""

_IN_PLACE = (
    "the loss changes a value in place; use the form of that function that does not, such as inplace=False"
)
_OVER_BATCHES = {functional.batch_norm, torch.batch_norm, functional.instance_norm}


def watched_parts(
    losses: Callable[[], Tensor], parameters: Mapping[str, Tensor], n_records: int
) -> dict[str, list[Part]]:
    """Compute losses, and return what each use of each parameter adds to the gradients of single records.

    Args:
        losses: Returns the loss of each record [batch].
        parameters: By name; all different tensors of floats.
        n_records: Number of records.

    Raises:
        ArgumentError: As `clipped_sum`.
    """
    watch = _Watch(parameters, n_records)
    try:
        with torch.enable_grad(), watch:
            values = losses()
    except RuntimeError as error:
        if "in-place" in str(error):
            raise ArgumentError(_IN_PLACE) from None
        raise
    if not isinstance(values, torch.Tensor) or values.shape != (n_records,):
        raise ArgumentError("the loss must be one number for each record, of shape [batch]")
    return watch.parts(values)


class _Watch(TorchFunctionMode):
    """Sees every call of a function of torch, and takes down those that use a parameter.

    A parameter is replaced by its values alone, so that nothing but what is taken down has a gradient.
    """

    def __init__(self, parameters: Mapping[str, Tensor], n_records: int) -> None:
        super().__init__()
        self._names = {id(p): name for name, p in parameters.items()}
        if len(self._names) != len(parameters):
            raise ArgumentError("two parameters are one tensor; give it one name")
        self._parameters = parameters
        self._n = n_records
        self._masked: dict[int, tuple[Tensor, str, Tensor]] = {}
        self._transposed: dict[int, tuple[Tensor, Tensor]] = {}
        self._uses: list[tuple[str, Tensor, int, _Found]] = []
        self._places: dict[int, Derivatives] = {}

    def parts(self, values: Tensor) -> dict[str, list[Part]]:
        """Return the parts of each parameter's gradients, by one backward pass."""
        found: dict[str, list[Part]] = {name: [] for name in self._parameters}
        # They refer back to this object, which would hold a step's tensors until Python looks for such circles.
        uses, self._uses = self._uses, []
        outputs = list({id(out): out for _, out, _, _ in uses}.values())
        if not outputs or not values.requires_grad:
            return found
        if any(out._version != version for _, out, version, _ in uses):
            raise ArgumentError(_IN_PLACE)
        derivatives = torch.autograd.grad(values.sum(), outputs, allow_unused=True)
        by_output = {id(out): d for out, d in zip(outputs, derivatives, strict=True)}
        for name, out, _, part in uses:
            if (d := by_output[id(out)]) is not None:
                found[name].append(part(d))
        return {name: joined(parts) for name, parts in found.items()}

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _OVER_BATCHES:
            raise ArgumentError("the loss normalises over a batch, so that it depends on other records")
        if not any(self._is_watched(value) for value in (*args, *kwargs.values())):
            return func(*args, **kwargs)
        if rule := _RULES.get(func):
            return rule(self, *args, **kwargs)
        values = func(*map(self._value, args), **{k: self._value(v) for k, v in kwargs.items()})
        if _holds_floats(values):
            self._refuse(func, args)
        return values

    def _is_watched(self, value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return any(map(self._is_watched, value))
        return id(value) in self._names or id(value) in self._masked or id(value) in self._transposed

    def _value(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._value, value))
        return value.detach() if id(value) in self._names else value

    def _refuse(self, func: Any, args: Sequence[Any]) -> NoReturn:
        named = [found[0] for a in args if (found := self._watched_matrix(a)) is not None]
        # What reads an attribute, such as `weight.mT`, is called __get__, and belongs to that attribute.
        name = getattr(func, "__name__", "a function")
        name = getattr(getattr(func, "__self__", None), "__name__", name) if name == "__get__" else name
        raise ArgumentError(
            f"the loss uses {'parameter ' + repr(named[0]) if named else 'a parameter'} in {name}, of which the "
            "gradient of a single record is not known; use linear layers, embeddings, biases, scales, and layer, group "
            "or root-mean-square norms"
        )

    def _use(self, name: str, out: Tensor, part: _Found) -> None:
        if out.dim() < 2 or out.shape[0] != self._n:
            raise ArgumentError(
                f"parameter {name!r} is used where the first axis is not that of the records; keep it first everywhere"
            )
        self._uses.append((name, out, out._version, part))

    def _watched_matrix(self, value: Any) -> tuple[str, Tensor, Tensor | None] | None:
        value = self._transposed.get(id(value), (value, value))[1]
        if id(value) in self._names:
            return self._names[id(value)], value.detach(), None
        if id(value) in self._masked:
            _, name, mask = self._masked[id(value)]
            return name, value, mask
        return None

    def linear(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Watch a linear layer; also one whose weights are no parameter but whose bias is."""
        if id(weight) in self._transposed:
            product = self.matmul(input, self._transposed[id(weight)][1])
            if bias is None:
                return product
            return self.add(product, bias) if self._is_watched(bias) else product + bias
        matrix = self._watched_matrix(weight)
        values = weight if matrix is None else matrix[1]
        if self._is_watched(input):
            self._refuse(functional.linear, [input])
        out = _leaf(functional.linear(input, values, None if bias is None else self._value(bias)))
        if matrix is not None:
            self._use_product(matrix, input, out, outputs_first=True)
        if bias is not None and id(bias) in self._names:
            self._use(self._names[id(bias)], out, lambda d: Sums(self._by_places(d)))
        return out

    def matmul(self, input: Tensor, other: Tensor) -> Tensor:
        """Watch a product of what a record has with a matrix."""
        if id(other) in self._transposed:
            return self.linear(input, self._transposed[id(other)][1])
        matrix = self._watched_matrix(other)
        if matrix is None or self._is_watched(input) or other.dim() != 2:
            self._refuse(torch.matmul, [input, other])
        out = _leaf(torch.matmul(input, matrix[1]))
        self._use_product(matrix, input, out, outputs_first=False)
        return out

    def addmm(
        self, input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
    ) -> Tensor:
        """Watch a product with a matrix to which a bias is added."""
        if beta != 1 or alpha != 1:
            self._refuse(torch.addmm, [input, mat1, mat2])
        matrix = None if id(mat2) in self._transposed else self._watched_matrix(mat2)
        if matrix is None or self._is_watched(mat1) or input.dim() != 1 or id(input) not in self._names:
            watched = self._is_watched(mat1) or self._is_watched(mat2)
            product = self.matmul(mat1, mat2) if watched else mat1 @ mat2
            return self.add(product, input) if self._is_watched(input) else product + input
        # One output for matrix and bias, whose derivatives are scaled once.
        out = _leaf(torch.addmm(input.detach(), mat1, matrix[1]))
        self._use_product(matrix, mat1, out, outputs_first=False)
        self._use(self._names[id(input)], out, lambda d: Sums(self._by_places(d)))
        return out

    def embedding(
        self,
        input: Tensor,
        weight: Tensor,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Tensor:
        """Watch rows that are looked up; what depends on how often a batch does so is refused."""
        del norm_type, sparse
        if max_norm is not None or scale_grad_by_freq or id(weight) not in self._names:
            self._refuse(functional.embedding, [weight])
        out = _leaf(functional.embedding(input, weight.detach()))
        codes = input.reshape(self._n, -1)
        kept = None if padding_idx is None else (codes != padding_idx % len(weight))[:, :, None]

        def part(d: Tensor) -> Part:
            flat = d.reshape(*codes.shape, -1)
            return Rows(len(weight), codes, Derivatives(flat if kept is None else flat * kept))

        self._use(self._names[id(weight)], out, part)
        return out

    def embedding_bag(
        self,
        input: Tensor,
        weight: Tensor,
        offsets: Tensor | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Tensor:
        """Watch rows that are looked up and added, one row of codes for each record."""
        options = (offsets, max_norm, per_sample_weights, padding_idx)
        if any(o is not None for o in options) or scale_grad_by_freq or mode != "sum" or input.dim() != 2:
            self._refuse(functional.embedding_bag, [weight])
        del norm_type, sparse, include_last_offset
        return self.embedding(input, weight).sum(1)

    def getitem(self, table: Any, index: Any) -> Tensor:
        """Watch `table[codes]`."""
        integers = isinstance(index, torch.Tensor) and index.dtype in (torch.int64, torch.int32)
        if id(table) not in self._names or not integers or table.dim() != 2:
            self._refuse(torch.Tensor.__getitem__, [table])
        return self.embedding(index.long(), table)

    def add(self, input: Any, other: Any, *, alpha: float = 1) -> Tensor:
        """Watch what is added."""
        x, p = (other, input) if self._is_watched(input) else (input, other)
        if alpha != 1 or self._is_watched(x) or id(p) not in self._names:
            self._refuse(torch.add, [input, other])
        out = _leaf(x + p.detach())
        if p.dim() == 1 and out.dim() == 2 and out.shape[1] == len(p):
            # Nothing is summed within a record: derivatives stay as they are.
            self._use(self._names[id(p)], out, lambda d: Sums(self._by_places(d)))
        else:
            self._use_sum(p, out, lambda d: d)
        return out

    def multiply(self, input: Any, other: Any) -> Tensor:
        """Watch what is multiplied by: a scale, or a matrix by a mask."""
        x, p = (other, input) if self._is_watched(input) else (input, other)
        if self._is_watched(x) or id(p) not in self._names or not isinstance(x, torch.Tensor):
            self._refuse(torch.mul, [input, other])
        if p.dim() == 2 and x.shape == p.shape and not x.requires_grad:
            masked: Tensor = p.detach() * x
            # Held, so that its identity stays its own.
            self._masked[id(masked)] = (masked, self._names[id(p)], x)
            return masked
        out = _leaf(x * p.detach())
        held = x.detach()
        self._use_sum(p, out, lambda d: d * held)
        return out

    def transpose(self, matrix: Any) -> Tensor:
        """Watch a matrix, masked or not, that is turned: a product with it is that of a linear layer."""
        if matrix.dim() != 2 or id(matrix) in self._transposed:
            self._refuse(torch.t, [matrix])
        turned: Tensor = self._value(matrix).T
        # Held, so that its identity stays its own.
        self._transposed[id(turned)] = (turned, matrix)
        return turned

    def layer_norm(
        self,
        input: Tensor,
        normalized_shape: Any,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        """Watch the scale and bias of a norm over a record's own numbers."""
        return self._scaled(functional.layer_norm(input, normalized_shape, eps=eps), weight, bias)

    def rms_norm(
        self, input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
    ) -> Tensor:
        """Watch the scale of a norm by the root of the mean square."""
        return self._scaled(functional.rms_norm(input, normalized_shape, eps=eps), weight, None)

    def group_norm(
        self,
        input: Tensor,
        num_groups: int,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        """Watch the scale and bias of a norm over groups of channels."""
        after = [1] * (input.dim() - 2)
        return self._scaled(functional.group_norm(input, num_groups, eps=eps), weight, bias, after)

    def _scaled(
        self, x: Tensor, weight: Tensor | None, bias: Tensor | None, after: Sequence[int] = ()
    ) -> Tensor:
        values = [
            None if p is None else self._value(p).reshape(-1, *after) if after else self._value(p)
            for p in (weight, bias)
        ]
        out = x if values[0] is None else x * values[0]
        out = _leaf(out if values[1] is None else out + values[1])
        held = x.detach()
        if weight is not None and id(weight) in self._names:
            self._use_sum(weight, out, lambda d: d * held, after)
        if bias is not None and id(bias) in self._names:
            self._use_sum(bias, out, lambda d: d, after)
        return out

    def _use_product(
        self, matrix: tuple[str, Tensor, Tensor | None], x: Tensor, out: Tensor, *, outputs_first: bool
    ) -> None:
        name, _, mask = matrix
        held = x.detach().reshape(self._n, -1, x.shape[-1]) if x.dim() > 1 and len(x) == self._n else None

        def part(d: Tensor) -> Part:
            assert held is not None
            return Products(held, self._by_places(d), outputs_first=outputs_first, mask=mask)

        self._use(name, out, part)

    def _by_places(self, d: Tensor) -> Derivatives:
        """Return derivatives [batch, places, width]; one object for all uses of them."""
        if id(d) not in self._places:
            self._places[id(d)] = Derivatives(d.reshape(self._n, -1, d.shape[-1]))
        return self._places[id(d)]

    def _use_sum(
        self, p: Tensor, out: Tensor, part: Callable[[Tensor], Tensor], after: Sequence[int] = ()
    ) -> None:
        """Take down a parameter that is spread over an output, `after` being axes of 1 behind its own."""
        spread = (*p.shape, *after)
        ones = (1,) * (out.dim() - len(spread)) + tuple(spread)
        if len(ones) != out.dim() or ones[0] != 1:
            self._refuse(torch.add, [p])
        summed = [axis for axis in range(1, out.dim()) if ones[axis] == 1]

        def vectors(d: Tensor) -> Part:
            each = part(d)
            each = each.sum(summed, keepdim=True) if summed else each
            return Vectors(each.reshape(self._n, *p.shape))

        self._use(self._names[id(p)], out, vectors)


_RULES: dict[Any, Callable[..., Any]] = {
    functional.linear: _Watch.linear,
    torch.addmm: _Watch.addmm,
    torch.Tensor.addmm: _Watch.addmm,
    torch.matmul: _Watch.matmul,
    torch.Tensor.matmul: _Watch.matmul,
    torch.Tensor.__matmul__: _Watch.matmul,
    torch.mm: _Watch.matmul,
    torch.Tensor.mm: _Watch.matmul,
    functional.embedding: _Watch.embedding,
    functional.embedding_bag: _Watch.embedding_bag,
    torch.Tensor.__getitem__: _Watch.getitem,
    torch.add: _Watch.add,
    torch.Tensor.add: _Watch.add,
    torch.Tensor.__add__: _Watch.add,
    torch.Tensor.__radd__: _Watch.add,
    torch.mul: _Watch.multiply,
    torch.Tensor.mul: _Watch.multiply,
    torch.Tensor.__mul__: _Watch.multiply,
    torch.Tensor.__rmul__: _Watch.multiply,
    torch.t: _Watch.transpose,
    torch.Tensor.t: _Watch.transpose,
    torch.Tensor.T.__get__: _Watch.transpose,  # type: ignore[attr-defined]
    torch.Tensor.mT.__get__: _Watch.transpose,  # type: ignore[attr-defined]
    functional.layer_norm: _Watch.layer_norm,
    functional.rms_norm: _Watch.rms_norm,
    functional.group_norm: _Watch.group_norm,
}


def _leaf(out: Tensor) -> Tensor:
    """Return an output that a backward pass goes back to."""
    return out if out.requires_grad else out.requires_grad_()


def _holds_floats(values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        return any(map(_holds_floats, values))
    return isinstance(values, torch.Tensor) and values.is_floating_point()
