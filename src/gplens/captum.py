"""The public name of gplens.interop.captum_attribution."""

try:
    from gplens.interop.captum_attribution import GaussianProcessIntegratedGradients
except ModuleNotFoundError as cause:
    if (cause.name or "").startswith("gplens"):
        raise
    raise ImportError(
        f"expected {cause.name} to be installed for gplens.captum, got no such module. Install gplens with the extra "
        "[captum]."
    ) from cause

__all__ = ["GaussianProcessIntegratedGradients"]
