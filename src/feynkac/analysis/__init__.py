"""Pure functions of any solution map u: errors, derivatives."""
