//! The Python module `turnfold._core`.
