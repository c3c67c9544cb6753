"""Formulas that closed forms and models are made of."""
