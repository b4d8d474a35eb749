"""GUM: records moved step by step towards noisy marginals."""

from syntabula.models.gum.model import GUM

__all__ = ["GUM"]
