"""What a command does, as typed functions that can be imported; they may use the decoder."""
