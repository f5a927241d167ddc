"""Model analysis: evaluation metrics, roles of attention heads, parity with a reference, bugs."""
