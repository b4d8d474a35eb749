"""Junction trees: elimination orders, calibration, marginals and sampling."""
