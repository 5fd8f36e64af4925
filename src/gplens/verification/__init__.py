"""Checks of explanations of the user's own model, by methods that share no code with their computation."""

from gplens.verification.verdicts import Check, Verification
from gplens.verification.verify import verify

__all__ = ["Check", "Verification", "verify"]
