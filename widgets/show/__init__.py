"""What a reader sees of an estimate: figures, diagrams, the panel, numbers in sentences."""
