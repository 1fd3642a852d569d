"""What is known: the data tables, and the sources that assumptions and presets take from them."""
