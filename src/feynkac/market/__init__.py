"""Market quotes: sheets as people have them, and models fitted to them."""
