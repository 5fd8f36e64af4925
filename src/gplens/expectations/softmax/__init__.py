"""Softmax: exact for independent logits, by quasi Monte Carlo for correlated ones, and two comparisons (MATH 3)."""

from gplens.expectations.softmax.classes import Softmax, SoftmaxTaylor
from gplens.expectations.softmax.sampled import MixedSoftmax, SoftmaxMonteCarlo

__all__ = ["MixedSoftmax", "Softmax", "SoftmaxMonteCarlo", "SoftmaxTaylor"]
