# SPDX-License-Identifier: MIT
"""Einsum: from the left, two operands at a time, as a product of matrices; letters that nothing needs later are summed first."""

import math


def _summed(call, x, letters, kept):
    axes = [place for place, letter in enumerate(letters) if letter not in kept]
    return (call("reduce_sum", x, axes=axes) if axes else x), [letter for letter in letters if letter in kept]


def _ordered(call, x, letters, order):
    permutation = [letters.index(letter) for letter in order]
    return x if permutation == sorted(permutation) else call("transpose", x, dtype=x.dtype, permutation=permutation)


def _product(call, x, of_x, y, of_y, later):
    """The product, and its letters: those of both that are kept, of x alone, of y alone."""
    x, of_x = _summed(call, x, of_x, later | set(of_y))
    y, of_y = _summed(call, y, of_y, later | set(of_x))
    extents = {**dict(zip(of_x, x.shape)), **dict(zip(of_y, y.shape))}
    both = [letter for letter in of_x if letter in of_y]
    batch, inner = [each for each in both if each in later], [each for each in both if each not in later]
    rows, columns = [each for each in of_x if each not in both], [each for each in of_y if each not in both]

    def shaped(value, letters, order):
        return call.reshape(_ordered(call, value, letters, sum(order, [])), [math.prod(extents[each] for each in part) for part in order])

    made = call("matmul", shaped(x, of_x, [batch, rows, inner]), shaped(y, of_y, [batch, inner, columns]))
    letters = batch + rows + columns
    return call.reshape(made, [extents[each] for each in letters]), letters


def einsum(call, *operands):
    equation = call.attribute("equation").replace(" ", "")
    call.refuse_unless("." not in equation, "an ellipsis has no counterpart")
    given, arrow, result = equation.partition("->")
    terms = [list(term) for term in given.split(",")]
    call.refuse_unless(all(len(set(term)) == len(term) for term in terms), "a diagonal has no counterpart")
    if not arrow:
        result = "".join(sorted(letter for letter in set(given) - {","} if given.count(letter) == 1))
    made, letters = operands[0], terms[0]
    for place in range(1, len(terms)):
        later = set(result).union(*terms[place + 1:])
        made, letters = _product(call, made, letters, operands[place], terms[place], later)
    made, letters = _summed(call, made, letters, set(result))
    made = _ordered(call, made, letters, list(result))
    return made if made is not operands[0] else call("identity", made, dtype=made.dtype)
