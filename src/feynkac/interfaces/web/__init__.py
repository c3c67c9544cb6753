"""The page of `feynkac serve` and the report of a run. The page's source is in `web/`."""
