"""Searches for better settings."""
