"""Where the normals of a path come from."""
