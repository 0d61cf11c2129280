"""Certificates that sign themselves, for tests of TLS."""

from pathlib import Path

from listserver import tool


def self_signed(folder: Path, names: str) -> tuple[Path, Path]:
    """A certificate for `names` (a subjectAltName) in `folder`, good for two days, and its key."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    tool("openssl")(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes",
        "-days", "2", "-subj", "/CN=real.example", "-addext", f"subjectAltName={names}",
        "-keyout", key, "-out", chain,
    )  # fmt: skip
    return chain, key
