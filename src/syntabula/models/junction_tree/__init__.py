"""Junction trees: elimination orders, calibrated tables, and what is asked of and drawn from them."""
