"""The service: solutions over HTTP, and the explorer's page (extra `serve`)."""
