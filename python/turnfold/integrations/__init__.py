"""turnfold inside other tools, one file each. Each needs its own extra; importing this imports none of them."""
