"""The weights of m and v at the nodes of panels, from psi at the nodes or on pieces of panels (MATH 4.1, 4.10)."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.paths.integrand import Question
from gplens.paths.nested import INTERPOLATING, NestedRule
from gplens.paths.panel_nodes import PanelNodes
from gplens.paths.path_psi import NodeValues, NodeWeights
from gplens.paths.pieces import SteepPanels, is_steep


def panel_weights(
    question: Question, nodes: PanelNodes, rule: NestedRule, tolerance: float
) -> tuple[NodeWeights, Float[Tensor, "s o"] | None]:
    """The weights of m and v at the nodes of panels, and the relative error of the pieces used where psi is steep."""
    expectation, outputs = question.expectation, question.outputs
    steep = is_steep(expectation, nodes)
    if not bool(steep.any()):
        return NodeWeights.of(expectation.jet(nodes, outputs), rule.channels[None]), None
    missed = nodes.m.new_zeros(steep.shape[0], len(outputs))
    if rule.t.shape[0] > INTERPOLATING:
        missed[steep] = torch.inf  # the panel will be halved instead
        return NodeWeights.of(expectation.jet(nodes, outputs), rule.channels[None]), missed
    m, v = nodes.m[steep], nodes.v[steep]
    pieces = SteepPanels(expectation, outputs, m, v, rule, tolerance).sums()
    missed[steep] = pieces.missed
    on_pieces = NodeWeights.of_moments(pieces.by_m, pieces.by_v, rule.moments)
    if bool(steep.all()):
        return on_pieces, missed
    jet = expectation.jet(NodeValues(nodes.m[~steep], nodes.v[~steep]), outputs)
    return NodeWeights.merged(steep, on_pieces, NodeWeights.of(jet, rule.channels[None])), missed
