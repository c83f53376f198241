"""What each kind of block means, one file per kind."""
