"""The paper's tables, figures and theorems, each a function of `Settings` that gives a `Result`."""
