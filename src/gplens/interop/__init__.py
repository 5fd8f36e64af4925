"""The calls of Captum and shap, and parts that frameworks for experiments share, on top of `explain`."""
