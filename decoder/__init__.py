"""The bundled decoder. It imports rampion; rampion never imports it, and meets it only through the Decoder protocol."""
