"""Whether two learners are the same to the last bit."""

from qufur.snapshot import encode


def same(one, other):
    """Whether two learners would be saved as the same file."""
    return same_content(encode(one), encode(other))


def same_content(one, other):
    """Whether what `encode` returned for two learners is the same."""
    (header, arrays), (other_header, others) = one, other
    bits, other_bits = (
        {name: (array.dtype, array.shape, array.tobytes()) for name, array in part.items()}
        for part in (arrays, others)
    )
    return header == other_header and bits == other_bits
