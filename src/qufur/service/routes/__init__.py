"""Routes of the HTTP API. The docstrings of handlers are the descriptions in the OpenAPI document."""
