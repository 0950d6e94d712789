"""Certificates of a cluster: those that it makes for itself, and a look at those that a user gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rampion.errors import InputError

# A clock may be put right while the cluster starts, and no run takes a year.
BEFORE, AFTER = timedelta(days=7), timedelta(days=365)


class Pair(NamedTuple):
    """A certificate that has signed itself, and its key, as PEM."""

    cert: str
    key: str


def made() -> Pair:
    """A new one, for as long as the process that knows it lives."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dask-internal")])
    cert = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - BEFORE, now + AFTER)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("dask-internal")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(cert.public_bytes(serialization.Encoding.PEM).decode(), secret.decode())


def prove(path: str) -> None:
    """Raise InputError unless the certificates in the file are valid now."""
    try:
        found = x509.load_pem_x509_certificates(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: holds no certificate that can be read ({error}); expected PEM") from error
    now = datetime.now(UTC)
    for cert in found:
        if now > cert.not_valid_after_utc:
            raise InputError(f"{path}: has expired on {cert.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; make a new one")
        if now < cert.not_valid_before_utc:
            raise InputError(
                f"{path}: is valid from {cert.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on, and here it is "
                f"{now:%Y-%m-%d %H:%M}; set the clock"
            )
