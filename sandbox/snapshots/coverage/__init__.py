"""What a snapshot covers: files that the ignore rules leave visible, and those that earlier rules did."""
