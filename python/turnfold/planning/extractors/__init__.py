"""One extractor a file: what one kind of tool says of its work."""
