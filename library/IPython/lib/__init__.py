"""There is no terminal; libraries ask for this to know that."""
