"""Other packages' ways of asking for an attribution: Captum's and shap's calls."""
