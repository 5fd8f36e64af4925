"""Checks of an explanation on the user's own model, by means that share nothing with its computation."""

from gplens.verification.verdicts import Check, Verification
from gplens.verification.verify import verify

__all__ = ["Check", "Verification", "verify"]
