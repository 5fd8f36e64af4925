"""The experiments of the paper (Seitz, "Integrated Gradient attribution for Gaussian Processes"), one file each."""
