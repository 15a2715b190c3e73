"""What turnfold computes with and hands back: frozen structs, one module a subject."""
