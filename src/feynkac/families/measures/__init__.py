"""Where inputs are drawn: boxes and other laws."""
