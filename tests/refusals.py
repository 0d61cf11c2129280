"""What every refusal has in common."""


def expect_one_line(error):
    """A refusal is one line of printable text."""
    assert str(error).isprintable(), error
