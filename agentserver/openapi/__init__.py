"""The OpenAPI document: what is described stands in ``operations``, what is served is asked of the router."""
