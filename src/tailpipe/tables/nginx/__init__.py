"""Tables of the nginx plugin, one file each."""
