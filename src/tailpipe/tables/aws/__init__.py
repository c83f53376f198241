"""Tables of the aws plugin, one file each."""
